#pragma once

#include <span>

#include "tensor/view.h"

namespace mha {

// What is done to a block of C once its products are summed up.
enum class Epilogue { none, relu, gelu, gelu_tanh, quick_gelu, silu };

// What a matrix A is multiplied with: C [m, n] = A B + bias, B [k, n], rows of any
// stride; no bias is null.
template <typename T>
struct Product {
  ConstMatrixView<T> B;
  const T* bias;
  MatrixView<T> C;
};

// C = epilogue(A B + bias) of all these products of A [m, k], as if their B stood side
// by side. Uses parallel(). Up to 240 rows, a thread packs the panel of B that it works
// on into its own 64 KB (below a few rows B is read where it lies: packing would take
// longer than it saves); more rows share panels, of which 4 MB are packed at a time.
// REQUIRES: no C overlaps A or a B.
void native_gemm(ConstMatrixView<float> A, std::span<const Product<float>> products,
                 Epilogue epilogue);

}  // namespace mha
