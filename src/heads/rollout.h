#pragma once

#include <cstddef>

#include "tensor/tensor.h"
#include "tensor/view.h"

namespace mha {

// Attention rollout (Abnar & Zuidema 2020, section 3): R = A_L … A_1, how much of token j is
// in token i of layer L, where A = (map + I) / 2 of a layer's mean map over heads, its rows
// divided by their sums; the row of a query that sees no key is I's.

// R of no layer: I [n, n]. Throws Error(Fault::system) without memory for it.
Tensor<double> no_rollout(std::size_t n);

// R := A R with the next layer's mean map [n, n].
void roll_out(ConstMatrixView<double> map, Tensor<double>& rollout);

}  // namespace mha
