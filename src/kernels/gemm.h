#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace mha {

// C = alpha A B + beta C, by BLAS. A [m, k], B [k, n], C [m, n]; rows may be
// strided. With beta = 0 what C held does not matter; k = 0 leaves beta C.
// REQUIRES: matching shapes; C overlaps neither A nor B.
// Throws Error(Fault::system) where a size or stride does not fit the int of
// the BLAS, or its buffers do not fit in memory.
void gemm(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B, float beta,
          MatrixView<float> C);
void gemm(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B, double beta,
          MatrixView<double> C);

// C = alpha A B^T + beta C with B [n, k].
void gemm_transposed(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B,
                     float beta, MatrixView<float> C);
void gemm_transposed(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B,
                     double beta, MatrixView<double> C);

// How many threads of its own the BLAS may use; one where nobody says. They start
// with the first product, fewer where there is no memory for so many. Not while a
// product is computed.
void use_blas_threads(std::size_t count);

// Name of the kernel that the BLAS picked for this processor.
const char* blas_kernel() noexcept;

}  // namespace mha
