#pragma once

#include "kernels/linear.h"
#include "tensor/tensor.h"

namespace mha {

// out = x W + b, to multiply with others of the same x (kernels/linear.h); no bias is an
// empty tensor. x [n, in], W [in, out], b [out], out [n, out].
template <typename T>
Product<T> product(const Tensor<T>& W, const Tensor<T>& b, MatrixView<T> out) {
  return {W.matrix(), b.empty() ? nullptr : b.data(), out};
}

// out = epilogue(x W + b); out overlaps neither x nor W.
template <typename T>
void project(ConstMatrixView<T> x, const Tensor<T>& W, const Tensor<T>& b, MatrixView<T> out,
             Epilogue epilogue = Epilogue::none) {
  const Product<T> one = product(W, b, out);
  linear(x, {&one, 1}, epilogue);
}

}  // namespace mha
