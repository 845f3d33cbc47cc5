#include "files/member_view.h"

#include <numeric>
#include <random>

#include "catch.h"
#include "files/crafted.h"

using namespace mha;

namespace {

// The same view made by plain indexing over a copy.
struct Plain {
  Shape shape;
  std::vector<float> values;

  // Element i of the result is element place_of(index of i) of this one.
  template <typename PlaceOf>
  Plain rearranged(Shape to, PlaceOf place_of) const {
    Plain result{std::move(to), {}};
    const std::size_t count = element_count(result.shape);
    for (std::size_t i = 0; i < count; ++i) {
      const Shape from = place_of(index_of(i, result.shape));
      std::size_t flat = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        flat = flat * shape[axis] + from[axis];
      }
      result.values.push_back(values.at(flat));
    }
    return result;
  }
};

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

Member member_of(const Plain& plain) {
  Member member;
  member.name = "a";
  member.dtype = DType::f32;
  member.dtype_name = "F32";
  member.shape = plain.shape;
  member.fetch = [bytes = Bytes::own(floats(plain.values))] { return bytes; };
  return member;
}

template <typename T = float>
std::vector<T> read(const Member& member) {
  Archive archive;
  archive.path = "w";
  const Tensor<T> tensor = read_tensor<T>(archive, member);
  REQUIRE(tensor.shape() == member.shape);
  return {tensor.values().begin(), tensor.values().end()};
}

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  // From `least` to `most`, both included.
  std::size_t operator()(std::size_t least, std::size_t most) {
    return least + engine_() % (most - least + 1);
  }
  Shape shuffled(std::size_t count) {
    Shape axes(count);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::shuffle(axes.begin(), axes.end(), engine_);
    return axes;
  }

 private:
  std::mt19937 engine_;
};

// One view at random, made both ways.
void view_once(Dice& dice, Member& member, Plain& plain) {
  const std::size_t rank = plain.shape.size();
  const std::size_t axis = dice(0, rank - 1);
  const std::size_t length = plain.shape[axis];
  switch (dice(0, 2)) {
    case 0: {
      const std::size_t first = dice(0, length - 1);
      const std::size_t count = dice(1, length - first);
      Shape to = plain.shape;
      to[axis] = count;
      plain = plain.rearranged(to, [&](Shape index) {
        index[axis] += first;
        return index;
      });
      member = slice(member, axis, first, count);
      break;
    }
    case 1: {
      std::size_t parts = dice(1, length);
      while (length % parts != 0) --parts;
      Shape to = plain.shape;
      to[axis] = length / parts;
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), parts);
      plain = plain.rearranged(to, [&](Shape index) {
        index[axis + 1] += index[axis] * (length / parts);
        index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
        return index;
      });
      member = split(member, axis, parts);
      break;
    }
    default: {
      const Shape axes = dice.shuffled(rank);
      Shape to;
      for (const std::size_t from : axes) to.push_back(plain.shape[from]);
      plain = plain.rearranged(to, [&](const Shape& index) {
        Shape source(rank);
        for (std::size_t i = 0; i < rank; ++i) source[axes[i]] = index[i];
        return source;
      });
      member = permute(member, axes);
    }
  }
}

}  // namespace

TEST_CASE("views of views hold what plain indexing finds, whatever the shape") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Dice dice(seed);
    Plain plain;
    for (std::size_t rank = dice(1, 4); rank > 0; --rank) plain.shape.push_back(dice(1, 40));
    // Most shapes large enough for more than one block of lines.
    while (element_count(plain.shape) > 20'000) plain.shape.pop_back();
    plain.values = ramp(element_count(plain.shape));
    Member member = member_of(plain);
    for (int views = 0; views < 4; ++views) {
      view_once(dice, member, plain);
      INFO("seed " << seed << ", " << to_string(plain.shape) << ", strides "
                   << to_string(strides_of(member)));
      REQUIRE(member.shape == plain.shape);
      REQUIRE(read(member) == plain.values);
    }
    CHECK(read<double>(member) ==
          std::vector<double>(plain.values.begin(), plain.values.end()));
  }
}

TEST_CASE("the heads of a Linear's weight are a split and a transposition") {
  // [out, in] = [2 heads * 3, 2]; head 1, row 1 of W_Q [heads, in, d_head].
  const Plain weight{{6, 2}, ramp(12)};
  const Member heads = permute(split(member_of(weight), 0, 2), {0, 2, 1});
  CHECK(heads.shape == Shape{2, 2, 3});
  CHECK(strides_of(heads) == Shape{6, 1, 2});
  CHECK(read(heads) == std::vector<float>{1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12});
}

TEST_CASE("an axis of stride 0 repeats what it holds") {
  Member member = member_of({{3}, ramp(3)});
  member.shape = {2, 3};
  member.strides = {0, 1};
  CHECK(read(member) == std::vector<float>{1, 2, 3, 1, 2, 3});
  CHECK(read(permute(member, {1, 0})) == std::vector<float>{1, 1, 2, 2, 3, 3});
  CHECK_FALSE(is_row_major(member));
  member.strides = {0, 0};
  member.offset = 2;
  CHECK(read(member) == std::vector<float>{3, 3, 3, 3, 3, 3});
}

TEST_CASE("a tensor is row-major where its neighbours are, whatever axes of length 1 say") {
  Member member = member_of({{4, 6}, ramp(24)});
  CHECK(is_row_major(member));
  CHECK(is_row_major(slice(member, 0, 1, 2)));
  CHECK(is_row_major(split(member, 1, 3)));
  CHECK(is_row_major(permute(slice(member, 0, 1, 1), {1, 0})));
  CHECK(is_row_major(permute(member, {0, 1})));
  CHECK_FALSE(is_row_major(slice(member, 1, 0, 3)));
  CHECK_FALSE(is_row_major(permute(member, {1, 0})));
  CHECK(is_row_major(slice(slice(member, 1, 2, 3), 0, 3, 1)));
}

TEST_CASE("a view of nothing is empty") {
  const Member member = slice(member_of({{4, 6}, ramp(24)}), 1, 6, 0);
  CHECK(member.shape == Shape{4, 0});
  CHECK(read(member).empty());
}

TEST_CASE("a message says the name that the file uses") {
  Archive archive;
  archive.path = "w.pt";
  const Member member = member_of({{1}, {1}});
  CHECK(where(archive, member) == "w.pt: a");
  const Member other = renamed(renamed(member, "b"), "W_Q");
  CHECK(other.name == "W_Q");
  CHECK(other.origin == "a");
  CHECK(where(archive, other) == "w.pt: a");
  CHECK(where(archive, slice(other, 0, 0, 1)) == "w.pt: a");
}
