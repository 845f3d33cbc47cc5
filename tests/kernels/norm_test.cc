#include "kernels/norm.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "catch.h"

namespace mha {
namespace {

template <typename T>
using Norm = void (*)(ConstMatrixView<T>, std::span<const T>, std::span<const T>, double,
                      MatrixView<T>) noexcept;

// One row of weight 1, with no bias where none is given.
template <typename T>
std::vector<T> normed(Norm<T> norm, std::vector<T> row, double eps,
                      const std::vector<T>& bias = {}) {
  const std::vector<T> ones(row.size(), T{1});
  const MatrixView<T> x(row.data(), 1, row.size());
  norm(x, ones, bias, eps, x);
  return row;
}

// The formula in long double, mean and mean square as they are defined.
template <typename T>
std::vector<long double> expected(const std::vector<T>& row, const std::vector<T>& weight,
                                  const std::vector<T>& bias, double eps, bool centred) {
  const auto n = static_cast<long double>(row.size());
  long double mean = 0;
  if (centred) {
    for (const T x : row) mean += x / n;
  }
  long double variance = 0;
  for (const T x : row) variance += (x - mean) * (x - mean) / n;
  std::vector<long double> result;
  for (std::size_t j = 0; j < row.size(); ++j) {
    result.push_back((row[j] - mean) / std::sqrt(variance + eps) * weight[j] +
                     (bias.empty() ? 0 : bias[j]));
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("norms are right to the last digit, at any width and far from zero", "",
                   float, double) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  const bool centred = GENERATE(true, false);
  const std::size_t width = GENERATE(1, 2, 7, 8, 33, 4096);
  const double offset = GENERATE(0.0, 1000.0);
  const double eps = GENERATE(1e-5, 1e-12);
  const bool biased = GENERATE(true, false);
  const Norm<TestType> norm = centred ? layer_norm<TestType> : rms_norm<TestType>;
  const auto draw = [&](double centre) {
    std::vector<TestType> values(width);
    for (TestType& value : values) value = static_cast<TestType>(centre + normal(random));
    return values;
  };
  const auto weight = draw(1.0);
  const auto bias = biased ? draw(0.0) : std::vector<TestType>{};
  // Two rows in a matrix with padding, written to another and in place.
  const std::size_t stride = width + 3;
  std::vector<TestType> x(2 * stride, TestType(77));
  std::vector<TestType> out(2 * stride, TestType(77));
  const MatrixView<TestType> rows(x.data(), 2, width, stride);
  std::vector<std::vector<TestType>> kept;
  for (std::size_t i = 0; i < 2; ++i) {
    kept.push_back(draw(offset));
    std::copy(kept[i].begin(), kept[i].end(), rows.row(i));
  }
  const MatrixView<TestType> result(out.data(), 2, width, stride);
  norm(rows, weight, bias, eps, result);
  norm(rows, weight, bias, eps, rows);
  CHECK(x == out);
  CHECK(out[width] == TestType(77));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto want = expected(kept[i], weight, bias, eps, centred);
    for (std::size_t j = 0; j < width; ++j) {
      // Half a unit for the one rounding; where weight and bias nearly cancel,
      // what the wider sums leave of numbers around 1000.
      const auto unit = static_cast<double>(std::numeric_limits<TestType>::epsilon());
      const double rest = sizeof(TestType) == 4 ? 1e-11 : 1e-14;
      const auto size = std::abs(static_cast<double>(want[j]));
      CHECK(std::abs(static_cast<double>(result(i, j) - want[j])) <=
            0.51 * unit * size + rest);
    }
  }
}

TEMPLATE_TEST_CASE("a constant row gives the bias, never NaN", "", float, double) {
  const double eps = GENERATE(1e-5, 0.0);
  const auto c = static_cast<TestType>(GENERATE(0.0, 0.1, -3e7, 1e-30));
  const std::vector<TestType> bias = {1, -2, 3};
  CHECK(normed<TestType>(layer_norm, {c, c, c}, eps, bias) == bias);
  CHECK(normed<TestType>(rms_norm, {0, 0, 0}, eps, bias) == bias);
  const std::vector<TestType> wide(5000, c);
  CHECK(normed<TestType>(layer_norm, wide, eps) == std::vector<TestType>(5000, TestType{0}));
}

TEMPLATE_TEST_CASE("the variance is divided by d_model and eps is inside the root", "", float,
                   double) {
  const auto a = normed<TestType>(layer_norm, {-1, 1}, 3.0);
  CHECK(a == std::vector<TestType>{-0.5, 0.5});  // 1 / sqrt(1 + 3)
  const auto b = normed<TestType>(rms_norm, {3, 3, 3, 3}, 7.0);
  CHECK(b == std::vector<TestType>(4, 0.75));  // 3 / sqrt(9 + 7)
}

TEMPLATE_TEST_CASE("numbers whose squares overflow are normalised", "", float, double) {
  const TestType most = std::numeric_limits<TestType>::max();
  CHECK(normed<TestType>(layer_norm, {-most, most}, 1e-5) == std::vector<TestType>{-1, 1});
  CHECK(normed<TestType>(rms_norm, {-most, most}, 1e-5) == std::vector<TestType>{-1, 1});
}

TEMPLATE_TEST_CASE("a NaN stays in its row", "", float, double) {
  std::vector<TestType> values = {1, std::numeric_limits<TestType>::quiet_NaN(), 1, 2};
  const MatrixView<TestType> x(values.data(), 2, 2);
  const std::vector<TestType> ones = {1, 1};
  layer_norm<TestType>(x, ones, {}, 0.0, x);
  CHECK(std::isnan(values[0]));
  CHECK(std::isnan(values[1]));
  CHECK(values[2] == TestType(-1));
  CHECK(values[3] == TestType(1));
}

}  // namespace mha
