#include "kernels/activation.h"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace mha {
namespace {

template <typename T, typename Function>
void apply(MatrixView<T> values, Function function) noexcept {
  for (std::size_t i = 0; i < values.rows; ++i) {
    T* row = values.row(i);
    for (std::size_t j = 0; j < values.cols; ++j) row[j] = function(row[j]);
  }
}

// x sigmoid(u), for u of the sign of x. An exponential that overflows leaves 0.
template <typename T>
T gated_by(T u, T x) {
  return x / (T{1} + std::exp(-u));
}

}  // namespace

template <typename T>
void relu(MatrixView<T> values) noexcept {
  apply(values, [](T x) { return x < T{0} ? T{0} : x; });  // NaN stays
}

template <typename T>
void gelu(MatrixView<T> values) noexcept {
  // 1 + erf(x) is erfc(-x), which has no 1 to cancel where x is negative.
  constexpr T kInverseRoot = std::numbers::sqrt2_v<T> / 2;
  apply(values, [](T x) { return x / 2 * std::erfc(-x * kInverseRoot); });
}

template <typename T>
void gelu_tanh(MatrixView<T> values) noexcept {
  // (1 + tanh(u)) / 2 is sigmoid(2 u), which has no 1 to cancel either.
  constexpr T kTwiceRoot = 2 * std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  apply(values, [](T x) {
    return gated_by(kTwiceRoot * (x + static_cast<T>(0.044715) * x * x * x), x);
  });
}

template <typename T>
void quick_gelu(MatrixView<T> values) noexcept {
  apply(values, [](T x) { return gated_by(static_cast<T>(1.702) * x, x); });
}

template <typename T>
void silu(MatrixView<T> values) noexcept {
  apply(values, [](T x) { return gated_by(x, x); });
}

template void relu(MatrixView<float>) noexcept;
template void relu(MatrixView<double>) noexcept;
template void gelu(MatrixView<float>) noexcept;
template void gelu(MatrixView<double>) noexcept;
template void gelu_tanh(MatrixView<float>) noexcept;
template void gelu_tanh(MatrixView<double>) noexcept;
template void quick_gelu(MatrixView<float>) noexcept;
template void quick_gelu(MatrixView<double>) noexcept;
template void silu(MatrixView<float>) noexcept;
template void silu(MatrixView<double>) noexcept;

}  // namespace mha
