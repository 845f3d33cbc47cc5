#pragma once

#include <cstddef>

#include "kernels/fused_attend.h"
#include "kernels/native_gemm.h"

namespace mha {

// Columns of a packed panel, on the widest target.
inline constexpr std::size_t kLargestPanel = 32;
// Rows of B that are packed together: such a panel, 64 KB at most, stays in the second
// cache while all groups of rows go over it.
inline constexpr std::size_t kGemmDepth = 512;
// Keys whose scores a group of rows holds at a time: of 12 rows 24 KB, half of the first
// cache; these keys and their values, packed, stay in the second.
inline constexpr std::size_t kKeyBlock = 512;

// What native_gemm() is given.
struct GemmArguments {
  ConstMatrixView<float> A;
  ConstMatrixView<float> B;
  const float* bias;
  Epilogue epilogue;
  MatrixView<float> C;
  const float* packed;  // B's columns as pack_values() leaves them, or null
};

// The kernels of one SIMD target, behind the functions of native_gemm.h,
// fused_attend.h, norm.h, entropy.h, simd.h and peak.h.
struct SimdTable {
  const char* name = nullptr;
  std::size_t panel = 0;  // columns of a packed panel
  void (*gemm_columns)(const GemmArguments& gemm, std::size_t first, std::size_t end,
                       float* panel) = nullptr;
  void (*pack_keys)(ConstMatrixView<float> k, float* packed) = nullptr;
  void (*pack_values)(ConstMatrixView<float> v, float* packed) = nullptr;
  std::size_t (*attend_rows)(const AttendBlock& block, float* scratch) = nullptr;
  void (*exp_negative)(float* x, std::size_t n) = nullptr;
  bool (*row_is_finite)(const float* row, std::size_t n) = nullptr;
  void (*cap_row)(float* row, std::size_t n, float cap) = nullptr;
  void (*norm_rows)(bool centred, ConstMatrixView<float> x, const float* weight,
                    const float* bias, double eps, MatrixView<float> out) = nullptr;
  float (*sum_m_ln_m)(const float* p, const float* q, std::size_t n) = nullptr;
  float (*chain_fma)(std::size_t steps) = nullptr;  // kernels/fma-inl.h
  std::size_t fma_flops = 0;                        // of one of its steps
};

// The target in use.
const SimdTable& simd() noexcept;

}  // namespace mha
