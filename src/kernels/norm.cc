#include "kernels/norm.h"

#include <cassert>
#include <cmath>
#include <cstddef>

#include "kernels/simd_table.h"

namespace mha {
namespace {

enum class Centre { mean, zero };

// f64's sums; f32's are norm-inl.h's, in double.
// out = (x - first - rest) / sqrt(mean((x - first - rest)²) + eps) * weight +
// bias of one row. The centre comes in two parts since their sum is rounded.
void normalise(const double* x, std::size_t n, long double first, long double rest,
               std::span<const double> weight, std::span<const double> bias, double eps,
               double* out) {
  const auto distance = [&](std::size_t j) {
    return static_cast<long double>(x[j]) - first - rest;
  };
  long double squares = 0;
  for (std::size_t j = 0; j < n; ++j) squares += distance(j) * distance(j);
  const long double spread =
      squares / static_cast<long double>(n) + static_cast<long double>(eps);
  const long double inverse = spread == 0 ? 0 : 1 / std::sqrt(spread);
  for (std::size_t j = 0; j < n; ++j) {
    const long double shift = bias.empty() ? 0 : static_cast<long double>(bias[j]);
    out[j] = static_cast<double>(distance(j) * inverse * static_cast<long double>(weight[j]) +
                                 shift);
  }
}

void norm(Centre centre, ConstMatrixView<double> x, std::span<const double> weight,
          std::span<const double> bias, double eps, MatrixView<double> out) {
  for (std::size_t i = 0; i < x.rows && x.cols > 0; ++i) {
    const double* row = x.row(i);
    // The mean counts from the first element: exactly it where all are equal.
    const long double first = centre == Centre::mean ? static_cast<long double>(row[0]) : 0;
    long double sum = 0;
    for (std::size_t j = 0; j < x.cols && centre == Centre::mean; ++j) {
      sum += static_cast<long double>(row[j]) - first;
    }
    normalise(row, x.cols, first, sum / static_cast<long double>(x.cols), weight, bias, eps,
              out.row(i));
  }
}

void norm(Centre centre, ConstMatrixView<float> x, std::span<const float> weight,
          std::span<const float> bias, double eps, MatrixView<float> out) {
  simd().norm_rows(centre == Centre::mean, x, weight.data(),
                   bias.empty() ? nullptr : bias.data(), eps, out);
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
  norm(Centre::mean, x, weight, bias, eps, out);
}

template <typename T>
void rms_norm(ConstMatrixView<T> x, std::span<const T> weight, std::span<const T> bias,
              double eps, MatrixView<T> out) noexcept {
  require_shapes<T>(x, weight, bias, out);
  norm(Centre::zero, x, weight, bias, eps, out);
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
