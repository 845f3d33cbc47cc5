// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_EPILOGUE_INL_H
#undef MHA_KERNELS_EPILOGUE_INL_H
#else
#define MHA_KERNELS_EPILOGUE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/exp-inl.h"
#include "kernels/native_gemm.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

HWY_INLINE V gelu(V x) {
  const D d;
  // x Phi(x) from erfc(|x| / sqrt 2) = e^(-x²/2) t q(t), t = 1 / (1 + 0.42 |x| / sqrt 2);
  // q fitted for the least largest error of erfc (3e-8 of it).
  const V size = hn::Min(hn::Abs(x), hn::Set(d, 1e9F));  // Inf times 0 is NaN
  const V z = hn::Mul(size, hn::Set(d, 0.70710678F));
  const V t = hn::Div(hn::Set(d, 1.0F), hn::MulAdd(z, hn::Set(d, 0.42F), hn::Set(d, 1.0F)));
  V q = hn::Set(d, 7.6193097e-2F);
  q = hn::MulAdd(q, t, hn::Set(d, -3.45870028e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, 4.86442531e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, -1.74519574e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, 2.93251166e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, 1.86828550e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, 2.40946716e-1F));
  q = hn::MulAdd(q, t, hn::Set(d, 2.36727574e-1F));
  const V tail = hn::Mul(hn::Mul(hn::Mul(size, hn::Set(d, 0.5F)), hn::Mul(t, q)),
                         exp_negative(hn::Neg(hn::Mul(z, z))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(tail), hn::Sub(x, tail));
}

// x / (1 + e^-y)
HWY_INLINE V times_sigmoid(V x, V y) {
  const D d;
  const V e = exp_negative(hn::Neg(hn::Abs(y)));
  const V one = hn::Set(d, 1.0F);
  const V numerator = hn::IfThenElse(hn::Lt(y, hn::Zero(d)), e, one);
  return hn::Div(hn::Mul(x, numerator), hn::Add(one, e));
}

HWY_INLINE V gelu_tanh(V x) {
  const D d;
  // 1 + tanh(u) = 2 sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x³)
  const V cube = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
  return times_sigmoid(x, hn::Mul(hn::Mul(x, cube), hn::Set(d, 1.59576912F)));
}

HWY_INLINE V activated(Epilogue epilogue, V x) {
  const D d;
  switch (epilogue) {
    case Epilogue::none: break;
    // NaN stays, which the maximum of an x86 would make 0.
    case Epilogue::relu: return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    case Epilogue::gelu: return gelu(x);
    case Epilogue::gelu_tanh: return gelu_tanh(x);
    case Epilogue::quick_gelu: return times_sigmoid(x, hn::Mul(x, hn::Set(d, 1.702F)));
    case Epilogue::silu: return times_sigmoid(x, x);
  }
  return x;
}

void finish_tile(Epilogue epilogue, std::size_t rows, float* c, std::size_t c_stride) {
  if (epilogue == Epilogue::none) return;
  const D d;
  for (std::size_t i = 0; i < rows; ++i) {
    float* row = c + i * c_stride;
    hn::StoreU(activated(epilogue, hn::LoadU(d, row)), d, row);
    hn::StoreU(activated(epilogue, hn::LoadU(d, row + kLanes)), d, row + kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
