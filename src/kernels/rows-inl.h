// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_ROWS_INL_H
#undef MHA_KERNELS_ROWS_INL_H
#else
#define MHA_KERNELS_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/exp-inl.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// Whether no number of the row is Inf or NaN: those times zero are NaN, and stay so.
bool row_is_finite(const float* row, std::size_t n) {
  const D d;
  const V zero = hn::Zero(d);
  V sum0 = zero;
  V sum1 = zero;
  std::size_t j = 0;
  for (; j + kPanel <= n; j += kPanel) {
    sum0 = hn::MulAdd(hn::LoadU(d, row + j), zero, sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, row + j + kLanes), zero, sum1);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; j < n; ++j) sum += row[j] * 0.0F;
  return sum == 0.0F;
}

// tanh within 3 ulp; the sign of 0 and NaN stay.
HWY_INLINE V tanh(V x) {
  const D d;
  const V size = hn::Abs(x);
  // (tanh x - x) / x³ in x² up to 0.6, fitted for the least largest error (3e-9 of tanh).
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, -5.895155e-3F);
  p = hn::MulAdd(p, square, hn::Set(d, 2.079597e-2F));
  p = hn::MulAdd(p, square, hn::Set(d, -5.378383e-2F));
  p = hn::MulAdd(p, square, hn::Set(d, 1.3331924e-1F));
  p = hn::MulAdd(p, square, hn::Set(d, -3.3333299e-1F));
  const V near = hn::MulAdd(hn::Mul(p, square), size, size);
  // Beyond, (1 - e^-2|x|) / (1 + e^-2|x|).
  const V one = hn::Set(d, 1.0F);
  const V e = exp_negative(hn::Mul(size, hn::Set(d, -2.0F)));
  const V far = hn::Div(hn::Sub(one, e), hn::Add(one, e));
  return hn::CopySign(hn::IfThenElse(hn::Gt(size, hn::Set(d, 0.6F)), far, near), x);
}

// row = cap tanh(row / cap)
void cap_row(float* row, std::size_t n, float cap) {
  const D d;
  const V by = hn::Set(d, cap);
  const auto capped = [&](V x) HWY_ATTR { return hn::Mul(by, tanh(hn::Div(x, by))); };
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) hn::StoreU(capped(hn::LoadU(d, row + j)), d, row + j);
  HWY_ALIGN float rest[kLanes] = {};
  std::copy_n(row + j, n - j, rest);
  hn::Store(capped(hn::Load(d, rest)), d, rest);
  std::copy_n(rest, n - j, row + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
