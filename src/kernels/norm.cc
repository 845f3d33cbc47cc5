#include "kernels/norm.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace mha {
namespace {

// Holds the square of every T.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

// out = (x - first - rest) / sqrt(mean((x - first - rest)²) + eps) * weight +
// bias of one row. The centre comes in two parts since their sum is rounded.
template <typename T>
void normalise(const T* x, std::size_t n, Wide<T> first, Wide<T> rest,
               std::span<const T> weight, std::span<const T> bias, double eps, T* out) {
  Wide<T> squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const Wide<T> distance = static_cast<Wide<T>>(x[j]) - first - rest;
    squares += distance * distance;
  }
  const Wide<T> spread = squares / static_cast<Wide<T>>(n) + static_cast<Wide<T>>(eps);
  const Wide<T> inverse = spread == 0 ? 0 : 1 / std::sqrt(spread);
  for (std::size_t j = 0; j < n; ++j) {
    const Wide<T> distance = static_cast<Wide<T>>(x[j]) - first - rest;
    const Wide<T> shift = bias.empty() ? 0 : static_cast<Wide<T>>(bias[j]);
    out[j] = static_cast<T>(distance * inverse * static_cast<Wide<T>>(weight[j]) + shift);
  }
}

template <typename T>
void require_shapes([[maybe_unused]] ConstMatrixView<T> x,
                    [[maybe_unused]] std::span<const T> weight,
                    [[maybe_unused]] std::span<const T> bias,
                    [[maybe_unused]] ConstMatrixView<T> out) {
  assert(x.rows == out.rows && x.cols == out.cols);
  assert(weight.size() == x.cols);
  assert(bias.empty() || bias.size() == x.cols);
}

}  // namespace

template <typename T>
void layer_norm(ConstMatrixView<T> x, std::span<const T> weight, std::span<const T> bias,
                double eps, MatrixView<T> out) noexcept {
  require_shapes<T>(x, weight, bias, out);
  if (x.empty()) return;
  for (std::size_t i = 0; i < x.rows; ++i) {
    // The mean counts from the first element: exactly it where all are equal.
    const Wide<T> first = static_cast<Wide<T>>(x(i, 0));
    Wide<T> sum = 0;
    for (std::size_t j = 0; j < x.cols; ++j) sum += static_cast<Wide<T>>(x(i, j)) - first;
    normalise(x.row(i), x.cols, first, sum / static_cast<Wide<T>>(x.cols), weight, bias, eps,
              out.row(i));
  }
}

template <typename T>
void rms_norm(ConstMatrixView<T> x, std::span<const T> weight, std::span<const T> bias,
              double eps, MatrixView<T> out) noexcept {
  require_shapes<T>(x, weight, bias, out);
  for (std::size_t i = 0; i < x.rows; ++i) {
    normalise(x.row(i), x.cols, Wide<T>{0}, Wide<T>{0}, weight, bias, eps, out.row(i));
  }
}

template void layer_norm(ConstMatrixView<float>, std::span<const float>,
                         std::span<const float>, double, MatrixView<float>) noexcept;
template void layer_norm(ConstMatrixView<double>, std::span<const double>,
                         std::span<const double>, double, MatrixView<double>) noexcept;
template void rms_norm(ConstMatrixView<float>, std::span<const float>, std::span<const float>,
                       double, MatrixView<float>) noexcept;
template void rms_norm(ConstMatrixView<double>, std::span<const double>,
                       std::span<const double>, double, MatrixView<double>) noexcept;

}  // namespace mha
