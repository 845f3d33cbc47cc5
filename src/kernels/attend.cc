#include "kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simd_table.h"

namespace mha {
namespace {

template <typename T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

bool row_is_finite(const float* row, std::size_t n) { return simd().row_is_finite(row, n); }

void cap_row(float* row, std::size_t n, float cap) { simd().cap_row(row, n, cap); }

void cap_row(double* row, std::size_t n, double cap) {
  for (double* s = row; s != row + n; ++s) *s = cap * std::tanh(*s / cap);
}

bool row_is_finite(const double* row, std::size_t n) {
  return std::all_of(row, row + n, [](double x) { return std::isfinite(x); });
}

}  // namespace

template <typename T>
void cap_scores(MatrixView<T> scores, T cap) noexcept {
  for (std::size_t i = 0; i < scores.rows; ++i) cap_row(scores.row(i), scores.cols, cap);
}

template <typename T>
bool all_finite(ConstMatrixView<T> values) noexcept {
  for (std::size_t i = 0; i < values.rows; ++i) {
    if (!row_is_finite(values.row(i), values.cols)) return false;
  }
  return true;
}

template <typename T>
std::size_t softmax_rows(MatrixView<T> scores) noexcept {
  std::size_t empty_rows = 0;
  for (std::size_t i = 0; i < scores.rows; ++i) {
    T* row = scores.row(i);
    T* end = row + scores.cols;
    T largest = kHidden<T>;
    for (const T* s = row; s != end; ++s) largest = std::max(largest, *s);
    // NaN is not larger than -Inf: a row that holds one is not an empty row.
    if (largest == kHidden<T> && std::all_of(row, end, [](T s) { return s == kHidden<T>; })) {
      std::fill(row, end, T{0});
      ++empty_rows;
      continue;
    }
    double sum = 0.0;
    for (T* s = row; s != end; ++s) {
      *s = std::exp(*s - largest);
      sum += static_cast<double>(*s);
    }
    // Scaled in double: each element is rounded once, so that the rounding of
    // one factor does not add up along the row.
    const double inverse = 1.0 / sum;
    for (T* s = row; s != end; ++s) *s = static_cast<T>(static_cast<double>(*s) * inverse);
  }
  return empty_rows;
}

template void cap_scores<float>(MatrixView<float>, float) noexcept;
template void cap_scores<double>(MatrixView<double>, double) noexcept;
template bool all_finite<float>(ConstMatrixView<float>) noexcept;
template bool all_finite<double>(ConstMatrixView<double>) noexcept;
template std::size_t softmax_rows<float>(MatrixView<float>) noexcept;
template std::size_t softmax_rows<double>(MatrixView<double>) noexcept;

}  // namespace mha
