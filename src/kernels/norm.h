#pragma once

#include <span>

#include "tensor/view.h"

namespace mha {

// Both norms row by row: x and out [n, d_model], weight and bias [d_model]; an
// empty bias adds nothing. Sums are taken wider than T and each result is
// rounded once, so that f32 is right to its last digit. A row without spread
// (or of zeros) gives the bias, with eps = 0 too.
// REQUIRES: matching shapes; out is x or does not overlap it.

// (x - mean) / sqrt(variance + eps) * weight + bias, the variance the mean
// square, not divided by d_model - 1 (Ba et al. 2016, section 3).
template <typename T>
void layer_norm(ConstMatrixView<T> x, std::span<const T> weight, std::span<const T> bias,
                double eps, MatrixView<T> out) noexcept;

// x / sqrt(mean(x²) + eps) * weight + bias (Zhang & Sennrich 2019, eq. 4).
template <typename T>
void rms_norm(ConstMatrixView<T> x, std::span<const T> weight, std::span<const T> bias,
              double eps, MatrixView<T> out) noexcept;

}  // namespace mha
