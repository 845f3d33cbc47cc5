// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_FMA_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_FMA_INL_H
#undef MHA_KERNELS_FMA_INL_H
#else
#define MHA_KERNELS_FMA_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// As many sums as a tile holds: enough for every multiply-add to be under way while
// the one before it on the same register ends.
constexpr std::size_t kFmaSums = 2 * kTileRows;
constexpr std::size_t kFmaFlops = 2 * kFmaSums * kLanes;  // of a step

// sum = sum a + b on each register, `steps` times; no memory is touched. The sums
// tend to 1: no subnormals, which some processors are slow with.
float chain_fma(std::size_t steps) {
  const D d;
  const V a = hn::Set(d, 0.875F);
  const V b = hn::Set(d, 0.125F);
  V sums[kFmaSums];
#pragma GCC unroll 24
  for (std::size_t i = 0; i < kFmaSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (std::size_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (std::size_t i = 0; i < kFmaSums; ++i) sums[i] = hn::MulAdd(sums[i], a, b);
  }
  V total = hn::Zero(d);
#pragma GCC unroll 24
  for (std::size_t i = 0; i < kFmaSums; ++i) total = hn::Add(total, sums[i]);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
