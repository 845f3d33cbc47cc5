#pragma once

#include "tensor/view.h"

namespace mha {

// C = alpha A B + beta C, by BLAS. A [m, k], B [k, n], C [m, n]; rows may be
// strided. REQUIRES: C overlaps neither A nor B. k = 0 leaves beta C.
void gemm(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B, float beta,
          MatrixView<float> C) noexcept;
void gemm(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B, double beta,
          MatrixView<double> C) noexcept;

// C = alpha A B^T + beta C with B [n, k].
void gemm_transposed(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B,
                     float beta, MatrixView<float> C) noexcept;
void gemm_transposed(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B,
                     double beta, MatrixView<double> C) noexcept;

// Name of the kernel that the BLAS picked for this processor.
const char* blas_kernel() noexcept;

}  // namespace mha
