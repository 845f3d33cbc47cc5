// Which shapes a mask may have and what each of them hides.
#include "layer/mask.h"

#include <cmath>
#include <limits>
#include <string>

#include "catch.h"
#include "support/error_of.h"

namespace mha {
namespace {

constexpr MaskAxes kAxes = {2, 3, 4, 5};  // batch, n_heads, n_queries, n_keys

// Values 0, 1, 2, … so that every element is known again.
Tensor<float> counted(Shape shape) {
  Tensor<float> values(std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(i);
  return values;
}

// What an additive mask of this shape adds to (item, head, query, key).
float added(const Shape& shape, const MaskAxes& axes, std::array<std::size_t, 4> at) {
  Mask<float> mask;
  mask.add.push_back(broadcast_mask(counted(shape), axes, "mask"));
  auto scores = Tensor<float>::zeros({1, axes.n_keys});
  apply_mask(mask, {.causal = Causal::off}, axes, at[0], at[1], at[2], 0, scores.matrix());
  return scores.data()[at[3]];
}

std::string refusal(const Shape& shape, const MaskAxes& axes) {
  return error_of([&] { broadcast_mask(counted(shape), axes, "m.npy"); });
}

// Which of the keys stay visible: "1101" hides key 2.
template <typename T>
std::string visible(const Mask<T>& mask, const AttentionSettings& settings,
                    const MaskAxes& axes, std::size_t query) {
  auto scores = Tensor<T>::zeros({1, axes.n_keys});
  apply_mask(mask, settings, axes, 0, 0, query, 0, scores.matrix());
  std::string keys;
  for (const T score : scores.values()) keys += std::isinf(score) ? '0' : '1';
  return keys;
}

template <typename T>
BroadcastMask<T> keys_mask(const std::vector<T>& values, const MaskAxes& axes) {
  Tensor<T> tensor({values.size()});
  std::copy(values.begin(), values.end(), tensor.data());
  return broadcast_mask(std::move(tensor), axes, "mask");
}

}  // namespace

TEST_CASE("a mask of one axis holds for the keys of every item, head and query") {
  CHECK(added({5}, kAxes, {0, 0, 0, 3}) == 3);
  CHECK(added({5}, kAxes, {1, 2, 3, 3}) == 3);
}

TEST_CASE("two axes are keys by item, or keys by query, as their number says") {
  CHECK(added({2, 5}, kAxes, {1, 2, 3, 4}) == 9);
  CHECK(added({4, 5}, kAxes, {1, 2, 3, 4}) == 19);
  CHECK(added({1, 5}, kAxes, {1, 2, 3, 4}) == 4);
}

TEST_CASE("three axes are items, heads, or items times heads as PyTorch lays them") {
  CHECK(added({6, 4, 5}, kAxes, {1, 2, 3, 4}) == 119);
  CHECK(added({6, 4, 5}, kAxes, {1, 0, 0, 0}) == 3 * 20);
  CHECK(added({2, 4, 5}, kAxes, {1, 2, 0, 0}) == 20);
  CHECK(added({3, 4, 5}, kAxes, {1, 2, 0, 0}) == 40);
  CHECK(added({2, 1, 5}, kAxes, {1, 2, 3, 0}) == 5);
  CHECK(added({1, 4, 5}, kAxes, {1, 2, 3, 0}) == 15);
  // One item: its heads are the heads.
  CHECK(added({3, 4, 5}, {1, 3, 4, 5}, {0, 1, 0, 0}) == 20);
}

TEST_CASE("four axes broadcast where they are one") {
  CHECK(added({2, 3, 4, 5}, kAxes, {1, 2, 3, 4}) == 119);
  CHECK(added({2, 1, 1, 5}, kAxes, {1, 2, 3, 4}) == 9);
  CHECK(added({1, 3, 1, 1}, kAxes, {1, 2, 3, 4}) == 2);
  CHECK(added({1, 1, 4, 1}, kAxes, {1, 2, 3, 4}) == 3);
  CHECK(added({1, 1, 1, 1}, kAxes, {1, 2, 3, 4}) == 0);
}

TEST_CASE("a mask that could mean two things is refused with both meanings") {
  CHECK(refusal({4, 5}, {4, 3, 4, 5}) ==
        "m.npy: mask is [4, 5], which could be [batch, n_keys] or [n_queries, n_keys]; "
        "give it four axes, [4, 1, 1, 5] or [1, 1, 4, 5]");
  CHECK(refusal({3, 4, 5}, {3, 3, 4, 5}) ==
        "m.npy: mask is [3, 4, 5], which could be [batch, n_queries, n_keys] or "
        "[n_heads, n_queries, n_keys]; give it four axes, [3, 1, 4, 5] or [1, 3, 4, 5]");
  CHECK(refusal({1, 5}, {1, 3, 1, 5}) == "no error");
}

TEST_CASE("a mask of no fitting shape is refused with both shapes") {
  CHECK(refusal({6}, kAxes) ==
        "m.npy: mask is [6], which broadcasts to nothing of [2, 3, 4, 5] (batch, n_heads, "
        "n_queries, n_keys)");
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 4}, Shape{3, 5}, Shape{4, 1},
                             Shape{4, 4, 5}, Shape{6, 5, 5}, Shape{6, 4, 1}, Shape{3, 2, 4, 5},
                             Shape{2, 3, 4, 6}, Shape{1, 2, 3, 4, 5}}) {
    CHECK(refusal(shape, kAxes) != "no error");
  }
}

TEST_CASE("causal counts from the start or from the end") {
  const MaskAxes more_keys = {1, 1, 2, 4};
  CHECK(visible<float>({}, {.causal = Causal::start}, more_keys, 0) == "1000");
  CHECK(visible<float>({}, {.causal = Causal::start}, more_keys, 1) == "1100");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_keys, 0) == "1110");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_keys, 1) == "1111");
  const MaskAxes more_queries = {1, 1, 4, 2};
  CHECK(visible<float>({}, {.causal = Causal::start}, more_queries, 3) == "11");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_queries, 0) == "00");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_queries, 1) == "00");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_queries, 2) == "10");
  CHECK(visible<float>({}, {.causal = Causal::end}, more_queries, 3) == "11");
  CHECK(visible<float>({}, {.causal = Causal::off}, more_queries, 0) == "11");
}

TEST_CASE("a window hides keys farther away than it is wide, on both sides") {
  const MaskAxes axes = {1, 1, 6, 6};
  CHECK(visible<float>({}, {.window = 0}, axes, 2) == "001000");
  CHECK(visible<float>({}, {.window = 2}, axes, 0) == "111000");
  CHECK(visible<float>({}, {.window = 2}, axes, 3) == "011111");
  CHECK(visible<float>({}, {.window = 2}, axes, 5) == "000111");
  CHECK(visible<float>({}, {.window = 5}, axes, 0) == "111111");
  const std::size_t all = std::numeric_limits<std::size_t>::max();
  CHECK(visible<float>({}, {.window = all}, axes, 5) == "111111");
}

TEST_CASE("a causal window looks back only") {
  const MaskAxes axes = {1, 1, 6, 6};
  CHECK(visible<float>({}, {.causal = Causal::start, .window = 2}, axes, 0) == "100000");
  CHECK(visible<float>({}, {.causal = Causal::start, .window = 2}, axes, 4) == "001110");
}

TEST_CASE("a window lies where Causal puts the queries") {
  const MaskAxes more_keys = {1, 1, 2, 6};
  CHECK(visible<float>({}, {.window = 1}, more_keys, 1) == "111000");
  CHECK(visible<float>({}, {.causal = Causal::end, .window = 1}, more_keys, 0) == "000110");
  CHECK(visible<float>({}, {.causal = Causal::end, .window = 1}, more_keys, 1) == "000011");
  const MaskAxes more_queries = {1, 1, 6, 2};
  CHECK(visible<float>({}, {.window = 1}, more_queries, 2) == "01");
  CHECK(visible<float>({}, {.window = 1}, more_queries, 3) == "00");
  // Keys stand at positions 4 and 5.
  CHECK(visible<float>({}, {.causal = Causal::end, .window = 1}, more_queries, 3) == "00");
  CHECK(visible<float>({}, {.causal = Causal::end, .window = 1}, more_queries, 4) == "10");
  CHECK(visible<float>({}, {.causal = Causal::end, .window = 1}, more_queries, 5) == "11");
}

TEST_CASE("positions count from 0, and at the end the last two are one") {
  const auto first = [](Causal causal, std::size_t n_queries, std::size_t n_keys) {
    const FirstPositions positions = first_positions(causal, {1, 1, n_queries, n_keys});
    return std::pair(positions.query, positions.key);
  };
  CHECK(first(Causal::off, 2, 5) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(first(Causal::start, 5, 2) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(first(Causal::end, 2, 5) == std::pair<std::size_t, std::size_t>(3, 0));
  CHECK(first(Causal::end, 5, 2) == std::pair<std::size_t, std::size_t>(0, 3));
}

TEST_CASE("key lengths hide what comes after them, item by item") {
  const MaskAxes axes = {2, 1, 1, 3};
  Mask<double> mask;
  mask.key_lengths = {2, 9};
  CHECK(visible(mask, {.causal = Causal::off}, axes, 0) == "110");
  auto scores = Tensor<double>::zeros({1, 3});
  apply_mask(mask, {.causal = Causal::off}, axes, 1, 0, 0, 0, scores.matrix());
  CHECK(!std::isinf(scores.data()[2]));
}

TEST_CASE("what one mask hides stays hidden, whatever the others say") {
  const MaskAxes axes = {1, 1, 4, 4};
  const float hidden = -std::numeric_limits<float>::infinity();
  Mask<float> mask;
  mask.drop.push_back(keys_mask<std::uint8_t>({1, 0, 0, 0}, axes));
  mask.drop.push_back(keys_mask<std::uint8_t>({0, 1, 0, 0}, axes));
  mask.add.push_back(keys_mask<float>({50, 50, hidden, 50}, axes));
  mask.add.push_back(keys_mask<float>({0, 0, 50, 0}, axes));
  CHECK(visible(mask, {.causal = Causal::off}, axes, 0) == "0001");
  CHECK(visible(mask, {.causal = Causal::start}, axes, 2) == "0000");
}

TEST_CASE("hiding covers a score that is no number") {
  const MaskAxes axes = {1, 1, 1, 2};
  const float hidden = -std::numeric_limits<float>::infinity();
  Mask<float> mask;
  mask.add.push_back(keys_mask<float>({hidden, 0}, axes));
  mask.drop.push_back(keys_mask<std::uint8_t>({0, 1}, axes));
  Tensor<float> scores({1, 2});
  std::fill_n(scores.data(), 2, std::numeric_limits<float>::quiet_NaN());
  apply_mask(mask, {.causal = Causal::off}, axes, 0, 0, 0, 0, scores.matrix());
  CHECK(scores.data()[0] == hidden);
  CHECK(scores.data()[1] == hidden);
}

TEST_CASE("a mask reaches only the block of rows that it is given") {
  const MaskAxes axes = {1, 1, 4, 2};
  auto scores = Tensor<float>::zeros({4, 3});  // a column more than the view has
  apply_mask<float>({}, {.causal = Causal::start}, axes, 0, 0, 0, 0,
                    scores.matrix().row_block(1, 1).col_block(0, 2));
  CHECK(std::isinf(scores.matrix()(1, 1)));
  CHECK(scores.matrix()(1, 0) == 0.0F);
  CHECK(scores.matrix()(1, 2) == 0.0F);
  CHECK(scores.matrix()(2, 1) == 0.0F);
}

TEST_CASE("a key is discouraged from minus a thousand on") {
  const MaskAxes axes = {1, 1, 1, 3};
  Mask<float> mask;
  mask.add.push_back(keys_mask<float>({-999, -1000, -1e9F}, axes));
  CHECK(!is_discouraged(mask, 0, 0, 0, 0));
  CHECK(is_discouraged(mask, 0, 0, 0, 1));
  CHECK(is_discouraged(mask, 0, 0, 0, 2));
}

}  // namespace mha
