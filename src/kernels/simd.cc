#include "kernels/simd.h"

#include <vector>

#include "base/error.h"
#include "kernels/simd_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cc"
// What is newer than AVX-512's first step (the lower bits) has nothing that these kernels
// use, SSSE3 is hardly met, and vectors of a length known only at run time cannot stand in
// arrays.
#define HWY_DISABLED_TARGETS \
  ((HWY_AVX3 - 1) | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/attend-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/fma-inl.h"
#include "kernels/gemm-inl.h"
#include "kernels/norm-inl.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

SimdTable table(const char* name) {
  return {name,         kPanel,        &gemm_columns,  &pack_keys, &pack_values,
          &attend_rows, &exp_negative, &row_is_finite, &cap_row,   &norm_rows,
          &sum_m_ln_m,  &chain_fma,    kFmaFlops};
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {
namespace {

using MakeTable = SimdTable (*)(const char*);

#if HWY_ARCH_X86
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}
#endif

// Highway's own choice needs its shared library; ours needs a list.
std::vector<SimdTable> tables() {
  std::vector<SimdTable> all;
  [[maybe_unused]] const auto add = [&all](MakeTable make, const char* name, bool there) {
    if (make != nullptr && there) all.push_back(make(name));
  };
#if HWY_ARCH_X86
  add(HWY_CHOOSE_AVX3(table), "AVX-512", has_avx512());
  add(HWY_CHOOSE_AVX2(table), "AVX2", has_avx2());
  add(HWY_CHOOSE_SSE4(table), "SSE4", __builtin_cpu_supports("sse4.2"));
#endif
  all.push_back(HWY_STATIC_DISPATCH(table)("baseline"));
  return all;
}

const std::vector<SimdTable>& all_tables() {
  static const std::vector<SimdTable> all = tables();
  return all;
}

const SimdTable* chosen = nullptr;

}  // namespace

const SimdTable& simd() noexcept { return chosen != nullptr ? *chosen : all_tables().front(); }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const SimdTable& table : all_tables()) names.emplace_back(table.name);
  return names;
}

void use_simd_target(const std::string& name) {
  std::string known;
  for (const SimdTable& table : all_tables()) {
    if (name == table.name) {
      chosen = &table;
      return;
    }
    known += known.empty() ? table.name : std::string(", ") + table.name;
  }
  throw Error(name + " is no SIMD unit of this processor, which has " + known);
}

const char* simd_target() noexcept { return simd().name; }
std::size_t simd_lanes() noexcept { return simd().panel / 2; }

void exp_negative(std::span<float> x) noexcept { simd().exp_negative(x.data(), x.size()); }

}  // namespace mha
#endif
