#pragma once

#include "tensor/tensor.h"

namespace mha {

// out = x W + b in one GEMM; no bias is an empty tensor. x [n, in], W [in,
// out], b [out], out [n, out]; out overlaps neither x nor W.
template <typename T>
void project(ConstMatrixView<T> x, const Tensor<T>& W, const Tensor<T>& b, MatrixView<T> out);

}  // namespace mha
