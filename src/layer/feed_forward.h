#pragma once

#include <cstddef>

#include "layer/settings.h"
#include "layer/weights.h"
#include "tensor/view.h"

namespace mha {

// What enters W_2: hidden = act(x W_1 + b_1), or gated (Shazeer 2020, section
// 2) act(x W_G + b_G) * (x W_1 + b_1). x [n, d_model], hidden [n, d_ff]; `gate`
// [n, d_ff] is scratch of a gated feed-forward and may else be empty. No two
// overlap. The feed-forward is then hidden W_2 + b_2.
template <typename T>
void fill_hidden(const FeedForwardWeights<T>& weights, Activation activation,
                 ConstMatrixView<T> x, MatrixView<T> gate, MatrixView<T> hidden);

// Rows that a layer takes through its feed-forward at a time, so that what it
// holds of hidden does not grow with n_rows.
std::size_t hidden_block_rows(std::size_t n_rows, std::size_t d_ff, std::size_t element_size);

}  // namespace mha
