#include "kernels/gemm.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "support/error_of.h"

namespace mha {
namespace {

// Rows of `cols` numbers, `padding` elements apart, which hold a mark that no
// kernel may touch.
template <typename T>
struct Padded {
  Padded(std::size_t rows, std::size_t cols, std::size_t padding, std::mt19937& random)
      : values(rows * (cols + padding) + 1, kMark),
        view(values.data(), rows, cols, cols + padding) {
    std::uniform_int_distribution<int> digits(-4, 4);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) view(i, j) = static_cast<T>(digits(random));
    }
  }
  bool padding_untouched() const {
    std::size_t marks = 0;
    for (const T value : values) marks += value == kMark ? 1 : 0;
    return marks == view.rows * (view.stride - view.cols) + 1;
  }
  static constexpr T kMark = static_cast<T>(12345.5);
  std::vector<T> values;
  MatrixView<T> view;
};

}  // namespace

// Whole numbers: every sum is exact in both types, in whatever order.
TEMPLATE_TEST_CASE("products of strided matrices are exact at every small size", "", float,
                   double) {
  std::mt19937 random(1);
  const std::size_t m = GENERATE(0, 1, 2, 5, 17);
  const std::size_t n = GENERATE(0, 1, 3, 16, 33);
  const std::size_t k = GENERATE(0, 1, 4, 31);
  const std::size_t padding = GENERATE(0, 3);
  const bool transposed = GENERATE(false, true);
  const auto alpha = static_cast<TestType>(GENERATE(1, 2));
  const auto beta = static_cast<TestType>(GENERATE(0, 1, 3));
  Padded<TestType> A(m, k, padding, random);
  Padded<TestType> B(transposed ? n : k, transposed ? k : n, padding, random);
  Padded<TestType> C(m, n, padding, random);
  Padded<TestType> expected = C;
  expected.view.data = expected.values.data();
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      TestType sum = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum += A.view(i, l) * (transposed ? B.view(j, l) : B.view(l, j));
      }
      expected.view(i, j) = alpha * sum + beta * C.view(i, j);
    }
  }
  if (transposed) {
    gemm_transposed(alpha, A.view, B.view, beta, C.view);
  } else {
    gemm(alpha, A.view, B.view, beta, C.view);
  }
  CAPTURE(m, n, k, padding, transposed, alpha, beta);
  CHECK(C.values == expected.values);
  CHECK(C.padding_untouched());
}

TEMPLATE_TEST_CASE("with beta zero what was there does not matter", "", float, double) {
  std::mt19937 random(2);
  const std::size_t rows = GENERATE(1, 4);
  const bool transposed = GENERATE(false, true);
  Padded<TestType> A(rows, 3, 0, random);
  Padded<TestType> B(3, 3, 0, random);
  Padded<TestType> C(rows, 3, 0, random);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      C.view(i, j) = std::numeric_limits<TestType>::quiet_NaN();
    }
  }
  if (transposed) {
    gemm_transposed(TestType{1}, A.view, B.view, TestType{0}, C.view);
  } else {
    gemm(TestType{1}, A.view, B.view, TestType{0}, C.view);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < 3; ++j) CHECK(std::isfinite(C.view(i, j)));
  }
}

TEST_CASE("a stride that the BLAS cannot count to is refused, not cut") {
  float element = 1.0F;
  float product = 0.0F;
  const std::size_t beyond = std::size_t{1} << 32;
  const MatrixView<float> wide(&element, 1, 1, beyond);
  const auto multiply = [&] {
    gemm(1.0F, wide, wide, 0.0F, MatrixView<float>(&product, 1, 1));
  };
  CHECK(error_of(multiply) ==
        "a matrix has an axis or stride of 4294967296, the BLAS counts to 2147483647");
  CHECK(fails_with(Fault::system, multiply));
}

TEST_CASE("the BLAS says which kernel it uses") { CHECK(!std::string(blas_kernel()).empty()); }

}  // namespace mha
