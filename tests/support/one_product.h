#pragma once

#include "kernels/linear.h"

namespace mha {

// One product instead of several.
inline void native_gemm(ConstMatrixView<float> A, ConstMatrixView<float> B, const float* bias,
                        Epilogue epilogue, MatrixView<float> C) {
  const Product<float> product{B, bias, C};
  native_gemm(A, {&product, 1}, epilogue);
}

template <typename T>
void linear(ConstMatrixView<T> x, ConstMatrixView<T> W, const T* bias, Epilogue epilogue,
            MatrixView<T> out) {
  const Product<T> product{W, bias, out};
  linear(x, {&product, 1}, epilogue);
}

}  // namespace mha
