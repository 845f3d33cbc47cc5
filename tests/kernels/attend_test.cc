#include "kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "kernels/simd.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

template <typename T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <typename T>
MatrixView<T> one_row(std::vector<T>& values) {
  return {values.data(), 1, values.size()};
}

}  // namespace

TEMPLATE_TEST_CASE("softmax is exp over its sum, at any length", "", float, double) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0.0, 3.0);
  const std::size_t n = GENERATE(1, 2, 15, 16, 17, 8192);
  std::vector<TestType> row(n);
  for (TestType& value : row) value = static_cast<TestType>(normal(random));
  std::vector<double> expected;
  double sum = 0.0;
  for (const TestType value : row) {
    expected.push_back(std::exp(static_cast<double>(value)));
    sum += expected.back();
  }
  CHECK(softmax_rows(one_row(row)) == 0);
  double total = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const auto weight = static_cast<double>(row[j]);
    // The difference to the maximum, its exponential and the product are each
    // rounded; the first is up to 20 and costs 20 half units.
    CHECK(std::abs(weight - expected[j] / sum) <=
          24 * static_cast<double>(std::numeric_limits<TestType>::epsilon()) * expected[j] /
              sum);
    total += weight;
  }
  CHECK(std::abs(total - 1.0) <= (sizeof(TestType) == 4 ? 1e-7 : 1e-14));
}

TEMPLATE_TEST_CASE("the row maximum is taken off before the exponential", "", float, double) {
  std::vector<TestType> row = {TestType(1e30), TestType(1e30), TestType(-1e30)};
  softmax_rows(one_row(row));
  CHECK(row == std::vector<TestType>{TestType(0.5), TestType(0.5), TestType(0)});
}

TEMPLATE_TEST_CASE("hidden keys are exactly zero and an empty row is all zeros", "", float,
                   double) {
  const TestType hidden = -kInfinity<TestType>;
  std::vector<TestType> values = {hidden, 1, hidden, 1, hidden, hidden, hidden, hidden};
  const MatrixView<TestType> rows(values.data(), 2, 3, 4);  // a column of padding
  CHECK(softmax_rows(rows) == 1);
  CHECK(values == std::vector<TestType>{0, 1, 0, 1, 0, 0, 0, hidden});
}

TEMPLATE_TEST_CASE("a row with a NaN is no empty row", "", float, double) {
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  std::vector<TestType> row = {-kInfinity<TestType>, nan, -kInfinity<TestType>};
  CHECK(softmax_rows(one_row(row)) == 0);
  CHECK(std::isnan(row[1]));
}

TEMPLATE_TEST_CASE("one bad number among many is found, and padding is not looked at", "",
                   float, double) {
  std::vector<TestType> values(3 * 40, TestType(1));
  const MatrixView<TestType> matrix(values.data(), 3, 37, 40);
  matrix(0, 5) = std::numeric_limits<TestType>::max();
  matrix(1, 5) = std::numeric_limits<TestType>::denorm_min();
  values[38] = kInfinity<TestType>;
  CHECK(all_finite<TestType>(matrix));
  for (const TestType bad : {kInfinity<TestType>, -kInfinity<TestType>,
                             std::numeric_limits<TestType>::quiet_NaN()}) {
    for (const std::size_t place : {0, 17, 36}) {
      matrix(2, place) = bad;
      CHECK(!all_finite<TestType>(matrix));
      matrix(2, place) = TestType(1);
    }
  }
  CHECK(all_finite<TestType>(matrix));
}

TEMPLATE_TEST_CASE("a cap bends scores towards itself", "", float, double) {
  std::vector<TestType> row = {0, 5, -5, 1000, TestType(0.001)};
  cap_scores(one_row(row), TestType(5));
  CHECK(row[0] == 0);
  CHECK(std::abs(row[1] - TestType(5 * 0.76159415595576489)) < TestType(1e-6));
  CHECK(row[2] == -row[1]);
  CHECK(row[3] == 5);
  CHECK(std::abs(row[4] - TestType(0.001)) < TestType(1e-9));
}

TEST_CASE("a cap is right to four units of the last digit on every target, at every width") {
  const SimdGuard guard;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    double worst = 0.0;
    // The largest argument that tanh does not round to 1 is about 9.
    for (std::size_t width = 1; width <= 600; ++width) {
      std::vector<float> row(width);
      for (std::size_t j = 0; j < width; ++j) {
        row[j] = 50.0F * (0.0003F + 0.0317F * static_cast<float>(j * width % 331)) *
                 (j % 2 == 0 ? 1.0F : -1.0F);
      }
      const std::vector<float> before = row;
      cap_scores(one_row(row), 50.0F);
      for (std::size_t j = 0; j < width; ++j) {
        const double want = 50.0 * std::tanh(static_cast<double>(before[j]) / 50.0);
        worst = std::max(worst, std::abs(static_cast<double>(row[j]) / want - 1.0));
      }
    }
    CAPTURE(target);
    CHECK(worst < 4 * 0x1p-23);
    std::vector<float> row = {0.0F, -0.0F, kInfinity<float>, -kInfinity<float>, std::nanf("")};
    cap_scores(one_row(row), 50.0F);
    CHECK(!std::signbit(row[0]));
    CHECK(std::signbit(row[1]));
    CHECK(row[2] == 50.0F);
    CHECK(row[3] == -50.0F);
    CHECK(std::isnan(row[4]));
  }
}

}  // namespace mha
