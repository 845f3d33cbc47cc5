// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_EXP_INL_H
#undef MHA_KERNELS_EXP_INL_H
#else
#define MHA_KERNELS_EXP_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// e^x for x <= 0 within 2 ulp; 0 where the result would be no normal number, so
// that -Inf gives exactly 0; NaN stays. x = n ln 2 + r, |r| <= ln 2 / 2, and a
// polynomial for e^r.
HWY_INLINE V exp_negative(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  // Adding it rounds to whole numbers, and leaves n + 127 in the lowest bits.
  const V rounder = hn::Set(d, 12582912.0F + 127.0F);
  const V rounded = hn::MulAdd(x, hn::Set(d, 1.44269504F), rounder);
  const V n = hn::Sub(rounded, rounder);
  // ln 2 in two parts, so that n ln 2 is exact in the first.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  // (e^r - 1 - r) / r^2 over the range, fitted for the least largest error of
  // e^r (3e-9 of it).
  V p = hn::Set(d, 1.381454e-3F);
  p = hn::MulAdd(p, r, hn::Set(d, 8.368745e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.166839e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666521e-1F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.9999994e-1F));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0F)));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, rounded)));
  const V least = hn::Set(d, -87.33654F);  // ln of the smallest normal number
  return hn::IfThenZeroElse(hn::Lt(x, least), hn::Mul(p, power));
}

void exp_negative(float* x, std::size_t n) {
  const D d;
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(exp_negative(hn::LoadU(d, x + j)), d, x + j);
  HWY_ALIGN float rest[kLanes] = {};
  std::copy_n(x + j, n - j, rest);
  hn::Store(exp_negative(hn::Load(d, rest)), d, rest);
  std::copy_n(rest, n - j, x + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
