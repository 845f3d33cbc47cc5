#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace mha {

// The softmax side of one block of query rows.

// In place: s = cap tanh(s / cap); cap > 0 (Gemma 2, section 2).
template <typename T>
void cap_scores(MatrixView<T> scores, T cap) noexcept;

// Whether every element is finite.
template <typename T>
bool all_finite(ConstMatrixView<T> values) noexcept;

// In place, row by row: exp(s - max) / sum, the sum taken in double
// (Vaswani et al. 2017, eq. 1). A row of nothing but -Inf becomes zeros; the
// count of such rows is returned.
template <typename T>
std::size_t softmax_rows(MatrixView<T> scores) noexcept;

}  // namespace mha
