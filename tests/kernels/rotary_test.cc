#include "kernels/rotary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "tensor/tensor.h"

namespace mha {
namespace {

// Rows 1, 2, 3, … of this shape, turned.
template <typename T>
Tensor<T> turned(Shape shape, std::size_t n_heads, std::size_t width, RotaryPairs pairs,
                 double theta, std::size_t first_position) {
  Tensor<T> x(std::move(shape));
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<T>(i + 1);
  rotate(x.matrix(), n_heads, width, pairs, theta, first_position);
  return x;
}

void check(const Tensor<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << i);
    CHECK(std::abs(found.data()[i] - expected[i]) <= 1e-14);  // a few roundings of 8
  }
}

// cos and sin of 1, of 0.01 and of 2.
constexpr double c1 = 0.54030230586813972, s1 = 0.84147098480789651;
constexpr double c01 = 0.99995000041666526, s01 = 0.0099998333341666645;
constexpr double c2 = -0.41614683654714239, s2 = 0.90929742682568170;

}  // namespace

TEST_CASE("position 0 stays as it is") {
  for (const auto pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
    check(turned<double>({1, 4}, 1, 4, pairs, 10000, 0), {1, 2, 3, 4});
  }
}

TEST_CASE("halves turn the first channel with the first of the second half") {
  // The second pair is 10000^(-2/4) = 0.01 as fast as the first.
  check(turned<double>({1, 4}, 1, 4, RotaryPairs::halves, 10000, 1),
        {c1 - 3 * s1, 2 * c01 - 4 * s01, s1 + 3 * c1, 2 * s01 + 4 * c01});
}

TEST_CASE("neighbours turn the first channel with the second") {
  check(turned<double>({1, 4}, 1, 4, RotaryPairs::neighbours, 10000, 1),
        {c1 - 2 * s1, s1 + 2 * c1, 3 * c01 - 4 * s01, 3 * s01 + 4 * c01});
}

TEST_CASE("theta sets how much slower each pair turns") {
  check(turned<double>({1, 4}, 1, 4, RotaryPairs::neighbours, 0.25, 1),
        {c1 - 2 * s1, s1 + 2 * c1, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2});
}

TEST_CASE("rows count on from the first position") {
  check(turned<double>({2, 2}, 1, 2, RotaryPairs::halves, 10000, 1),
        {c1 - 2 * s1, s1 + 2 * c1, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2});
}

TEST_CASE("every head turns, and of each the last channels alone") {
  check(turned<double>({1, 6}, 2, 2, RotaryPairs::neighbours, 10000, 1),
        {1, 2 * c1 - 3 * s1, 2 * s1 + 3 * c1, 4, 5 * c1 - 6 * s1, 5 * s1 + 6 * c1});
}

TEST_CASE("only the columns of the view turn") {
  Tensor<double> x({2, 3});
  std::fill_n(x.data(), x.size(), 1.0);
  rotate(x.matrix().col_block(0, 2), 1, 2, RotaryPairs::halves, 10000, 1);
  check(x, {c1 - s1, s1 + c1, 1, c2 - s2, s2 + c2, 1});
}

TEST_CASE("f32 is what f64 rounds to, at any position") {
  const std::size_t position =
      GENERATE(std::size_t{1}, std::size_t{8191}, std::size_t{1} << 20);
  const auto a = turned<float>({3, 8}, 2, 4, RotaryPairs::halves, 10000, position);
  const auto b = turned<double>({3, 8}, 2, 4, RotaryPairs::halves, 10000, position);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a.data()[i] == static_cast<float>(b.data()[i]));
  }
}

}  // namespace mha
