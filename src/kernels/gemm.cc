#include "kernels/gemm.h"

#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <latch>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/memory.h"

namespace mha {
namespace {

int blas_int(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error("a matrix has an axis or stride of " + std::to_string(size) +
                    ", the BLAS counts to 2147483647",
                Fault::system);
  }
  return static_cast<int>(size);
}

// OpenBLAS maps a buffer of this size for each of its threads (32 << 22 bytes on
// x86-64) and, where it cannot, tries again for ever.
constexpr std::size_t kBlasBuffer = std::size_t{128} << 20;

bool can_map(std::size_t bytes) {
  void* const probe =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return false;
  ::munmap(probe, bytes);
  return true;
}

constexpr std::size_t kStack = std::size_t{16} << 20;  // with what else a thread maps

// How many threads OpenBLAS can have with their buffers, which it does not ask.
std::size_t possible_threads(std::size_t wanted) {
  std::latch counted(1);
  std::vector<std::thread> others;
  others.reserve(wanted);
  try {
    while (others.size() + 1 < wanted) others.emplace_back([&counted] { counted.wait(); });
  } catch (const std::system_error&) {  // those that could be started count
  }
  std::size_t count = others.size() + 1;
  counted.count_down();
  for (std::thread& other : others) other.join();
  while (count > 0 && !can_map(count * kBlasBuffer + (count - 1) * kStack)) --count;
  return count;
}

std::size_t blas_threads = 1;
bool blas_started = false;

bool start_blas() {
  const std::size_t threads = possible_threads(blas_threads);
  if (threads == 0) {
    throw Error("the BLAS needs " + format_bytes(kBlasBuffer) + " of memory a thread, " +
                    format_bytes(available_memory()) + " are available",
                Fault::system);
  }
  openblas_set_num_threads(static_cast<int>(threads));
  blas_started = true;
  return true;
}

// Linked statically, OpenBLAS would start a thread for each processor before main(),
// which most runs do not use; this is what it asks after OPENBLAS_NUM_THREADS.
[[gnu::constructor(101)]] void start_blas_with_one_thread() {
  ::setenv("GOTO_NUM_THREADS", "1", 1);
}

// The BLAS wants a positive leading dimension even where there is no element.
template <typename T>
int leading_dimension(MatrixView<T> matrix) {
  return blas_int(std::max<std::size_t>(matrix.stride, 1));
}

void blas_gemm(CBLAS_TRANSPOSE transpose, int m, int n, int k, float alpha, const float* A,
               int lda, const float* B, int ldb, float beta, float* C, int ldc) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, m, n, k, alpha, A, lda, B, ldb, beta, C,
              ldc);
}

void blas_gemm(CBLAS_TRANSPOSE transpose, int m, int n, int k, double alpha, const double* A,
               int lda, const double* B, int ldb, double beta, double* C, int ldc) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, transpose, m, n, k, alpha, A, lda, B, ldb, beta, C,
              ldc);
}

void blas_gemv(CBLAS_TRANSPOSE transpose, int rows, int cols, float alpha, const float* A,
               int lda, const float* x, float beta, float* y) {
  cblas_sgemv(CblasRowMajor, transpose, rows, cols, alpha, A, lda, x, 1, beta, y, 1);
}

void blas_gemv(CBLAS_TRANSPOSE transpose, int rows, int cols, double alpha, const double* A,
               int lda, const double* x, double beta, double* y) {
  cblas_dgemv(CblasRowMajor, transpose, rows, cols, alpha, A, lda, x, 1, beta, y, 1);
}

template <typename T>
void multiply(CBLAS_TRANSPOSE transpose, T alpha, ConstMatrixView<T> A, ConstMatrixView<T> B,
              T beta, MatrixView<T> C) {
  assert(A.rows == C.rows);
  assert(A.cols == (transpose == CblasTrans ? B.cols : B.rows));
  assert(C.cols == (transpose == CblasTrans ? B.rows : B.cols));
  if (C.empty()) return;
  [[maybe_unused]] static const bool started = start_blas();
  // One row is bound by reading B once, which gemv does several times faster.
  if (C.rows == 1 && A.cols > 0) {
    // Some releases scale an old NaN by 0 and keep it.
    if (beta == T{0}) std::fill_n(C.data, C.cols, T{0});
    blas_gemv(transpose == CblasTrans ? CblasNoTrans : CblasTrans, blas_int(B.rows),
              blas_int(B.cols), alpha, B.data, leading_dimension(B), A.data, beta, C.data);
    return;
  }
  blas_gemm(transpose, blas_int(C.rows), blas_int(C.cols), blas_int(A.cols), alpha, A.data,
            leading_dimension(A), B.data, leading_dimension(B), beta, C.data,
            leading_dimension(C));
}

}  // namespace

void gemm(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B, float beta,
          MatrixView<float> C) {
  multiply(CblasNoTrans, alpha, A, B, beta, C);
}

void gemm(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B, double beta,
          MatrixView<double> C) {
  multiply(CblasNoTrans, alpha, A, B, beta, C);
}

void gemm_transposed(float alpha, ConstMatrixView<float> A, ConstMatrixView<float> B,
                     float beta, MatrixView<float> C) {
  multiply(CblasTrans, alpha, A, B, beta, C);
}

void gemm_transposed(double alpha, ConstMatrixView<double> A, ConstMatrixView<double> B,
                     double beta, MatrixView<double> C) {
  multiply(CblasTrans, alpha, A, B, beta, C);
}

void use_blas_threads(std::size_t count) {
  blas_threads = count;
  if (blas_started) start_blas();
}

const char* blas_kernel() noexcept { return openblas_get_corename(); }

}  // namespace mha
