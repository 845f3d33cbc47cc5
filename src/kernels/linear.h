#pragma once

#include <span>

#include "kernels/native_gemm.h"
#include "tensor/view.h"

namespace mha {

// Who multiplies f32 matrices with weights: OpenBLAS, native_gemm(), or
// for each size the one that was measured to be faster.
enum class Gemm { automatic, openblas, native };
void use_gemm(Gemm gemm) noexcept;
// Whether that is OpenBLAS here.
bool blas_multiplies() noexcept;

// The products of x [n, in] with weights B [in, out], all of them in one pass over x:
// C = epilogue(x B + bias). REQUIRES: no C overlaps x or a B.
void linear(ConstMatrixView<float> x, std::span<const Product<float>> products,
            Epilogue epilogue);
void linear(ConstMatrixView<double> x, std::span<const Product<double>> products,
            Epilogue epilogue);

}  // namespace mha
