#include "kernels/linear.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.h"
#include "kernels/activation.h"
#include "support/one_product.h"

namespace mha {
namespace {

struct GemmGuard {
  GemmGuard() = default;
  GemmGuard(const GemmGuard&) = delete;
  GemmGuard& operator=(const GemmGuard&) = delete;
  ~GemmGuard() { use_gemm(Gemm::automatic); }
};

template <typename T>
void activate(Epilogue epilogue, MatrixView<T> values) {
  switch (epilogue) {
    case Epilogue::none: return;
    case Epilogue::relu: return relu(values);
    case Epilogue::gelu: return gelu(values);
    case Epilogue::gelu_tanh: return gelu_tanh(values);
    case Epilogue::quick_gelu: return quick_gelu(values);
    case Epilogue::silu: return silu(values);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a linear map is its formula, whoever multiplies", "", float, double) {
  const GemmGuard guard;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> digits(-4, 4);
  const Gemm gemm = GENERATE(Gemm::automatic, Gemm::openblas, Gemm::native);
  const std::size_t rows = GENERATE(0, 1, 2, 13);
  const std::size_t in = GENERATE(1, 515);
  const std::size_t out = GENERATE(1, 33);
  const bool biased = GENERATE(false, true);
  const auto epilogue = GENERATE(Epilogue::none, Epilogue::relu, Epilogue::gelu,
                                 Epilogue::gelu_tanh, Epilogue::quick_gelu, Epilogue::silu);
  use_gemm(gemm);
  const auto draw = [&](std::size_t n) {
    std::vector<TestType> values(n);
    // Such that sums are exact, and most of them where activations bend.
    for (TestType& value : values) value = static_cast<TestType>(digits(random)) / TestType(8);
    return values;
  };
  const auto x = draw(rows * (in + 3));
  const auto W = draw(in * out);
  const auto bias = draw(out);
  std::vector<TestType> y(rows * (out + 2), TestType(77));
  const MatrixView<TestType> result(y.data(), rows, out, out + 2);
  linear<TestType>(ConstMatrixView<TestType>(x.data(), rows, in, in + 3),
                   ConstMatrixView<TestType>(W.data(), in, out),
                   biased ? bias.data() : nullptr, epilogue, result);
  double worst = 0.0;
  std::size_t touched = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> want(out);
    for (std::size_t j = 0; j < out; ++j) {
      want[j] = biased ? static_cast<double>(bias[j]) : 0.0;
      for (std::size_t p = 0; p < in; ++p) {
        want[j] +=
            static_cast<double>(x[i * (in + 3) + p]) * static_cast<double>(W[p * out + j]);
      }
    }
    activate<double>(epilogue, {want.data(), 1, out});
    for (std::size_t j = 0; j < out; ++j) {
      const double size = std::max(1.0, std::abs(want[j]));
      worst = std::max(worst, std::abs(static_cast<double>(result(i, j)) - want[j]) / size);
    }
    for (std::size_t j = out; j < out + 2; ++j) touched += y[i * (out + 2) + j] != 77 ? 1 : 0;
  }
  CAPTURE(static_cast<int>(gemm), rows, in, out, biased, static_cast<int>(epilogue));
  // Measured 1.3e-7 of an activation.
  CHECK(worst <= (epilogue == Epilogue::none ? 0.0 : sizeof(TestType) == 4 ? 2e-7 : 1e-15));
  CHECK(touched == 0);
}

}  // namespace mha
