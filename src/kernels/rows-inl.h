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

// x ln x for 0 <= x <= 1 within 2e-7; 0 where x is no normal number. x = 2^e m with m around
// 1, and Cephes' polynomial (logf) for ln m.
HWY_INLINE V x_ln_x(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const auto half_root = hn::Set(di, 0x3f3504f3);  // of sqrt(1/2), m's lower end
  const auto bits = hn::Sub(hn::BitCast(di, x), half_root);
  const V e = hn::ConvertTo(d, hn::ShiftRight<23>(bits));
  const auto mantissa = hn::And(bits, hn::Set(di, 0x007fffff));
  const V f = hn::Sub(hn::BitCast(d, hn::Add(mantissa, half_root)), hn::Set(d, 1.0F));
  V p = hn::Set(d, 7.0376836292e-2F);
  p = hn::MulAdd(p, f, hn::Set(d, -1.1514610310e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.1676998740e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, -1.2420140846e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.4249322787e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, -1.6668057665e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 2.0000714765e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, -2.4999993993e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 3.3333331174e-1F));
  const V square = hn::Mul(f, f);
  const V ln_m = hn::MulAdd(hn::Mul(square, f), p, hn::NegMulAdd(square, hn::Set(d, 0.5F), f));
  const V ln_x = hn::MulAdd(e, hn::Set(d, 0.69314718F), ln_m);
  const V least = hn::Set(d, 1.17549435e-38F);
  return hn::IfThenZeroElse(hn::Lt(x, least), hn::Mul(x, ln_x));
}

// sum of m ln m, m = (p + q) / 2
float sum_m_ln_m(const float* p, const float* q, std::size_t n) {
  const D d;
  const V half = hn::Set(d, 0.5F);
  const auto term = [&](const float* a, const float* b) HWY_ATTR {
    return x_ln_x(hn::Mul(hn::Add(hn::LoadU(d, a), hn::LoadU(d, b)), half));
  };
  V sum0 = hn::Zero(d);
  V sum1 = hn::Zero(d);
  std::size_t j = 0;
  for (; j + kPanel <= n; j += kPanel) {
    sum0 = hn::Add(sum0, term(p + j, q + j));
    sum1 = hn::Add(sum1, term(p + j + kLanes, q + j + kLanes));
  }
  HWY_ALIGN float rest_p[kPanel] = {};
  HWY_ALIGN float rest_q[kPanel] = {};
  std::copy_n(p + j, n - j, rest_p);
  std::copy_n(q + j, n - j, rest_q);
  sum0 = hn::Add(sum0, term(rest_p, rest_q));
  sum1 = hn::Add(sum1, term(rest_p + kLanes, rest_q + kLanes));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
