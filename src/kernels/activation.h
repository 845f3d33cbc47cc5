#pragma once

#include "tensor/view.h"

namespace mha {

// What a feed-forward does to each element, in place. However large a finite x
// is, the result is finite.

// max(x, 0)
template <typename T>
void relu(MatrixView<T> values) noexcept;

// x Phi(x) = x/2 (1 + erf(x / sqrt(2))) (Hendrycks & Gimpel 2016, section 2).
template <typename T>
void gelu(MatrixView<T> values) noexcept;

// Its approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))).
template <typename T>
void gelu_tanh(MatrixView<T> values) noexcept;

// Its other approximation x sigmoid(1.702 x).
template <typename T>
void quick_gelu(MatrixView<T> values) noexcept;

// x sigmoid(x), also called swish (Ramachandran et al. 2017).
template <typename T>
void silu(MatrixView<T> values) noexcept;

}  // namespace mha
