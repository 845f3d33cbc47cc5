// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_NORM_INL_H
#undef MHA_KERNELS_NORM_INL_H
#else
#define MHA_KERNELS_NORM_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "tensor/view.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Narrow = hn::Rebind<float, Wide>;
constexpr std::size_t kDoubles = hn::MaxLanes(Wide());
constexpr std::size_t kSums = 4;  // side by side, since an addition takes as many cycles
// Where there are no vectors, Highway's conversion makes Inf the largest number.
constexpr bool kHasVectors = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

// Elements of a row as distances from its centre, which comes in two parts since
// their sum is rounded.
struct Centred {
  const float* x;
  double first;
  double rest;

  double at(std::size_t j) const { return static_cast<double>(x[j]) - first - rest; }
  HWY_INLINE hn::Vec<Wide> vector_at(std::size_t j) const {
    const Wide d;
    const auto wide = hn::PromoteTo(d, hn::LoadU(Narrow(), x + j));
    return hn::Sub(hn::Sub(wide, hn::Set(d, first)), hn::Set(d, rest));
  }
};

// Of the distances, or of their squares.
template <bool squares>
HWY_INLINE double sum_of(const Centred& row, std::size_t n) {
  const Wide d;
  hn::Vec<Wide> sums[kSums];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t j = 0;
  for (; kHasVectors && j + kSums * kDoubles <= n; j += kSums * kDoubles) {
#pragma GCC unroll 4
    for (std::size_t s = 0; s < kSums; ++s) {
      const auto x = row.vector_at(j + s * kDoubles);
      sums[s] = squares ? hn::MulAdd(x, x, sums[s]) : hn::Add(x, sums[s]);
    }
  }
  const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; j < n; ++j) total += squares ? row.at(j) * row.at(j) : row.at(j);
  return total;
}

void norm_rows(bool centred, ConstMatrixView<float> x, const float* weight, const float* bias,
               double eps, MatrixView<float> out) {
  const Wide d;
  const Narrow narrow;
  const auto n = static_cast<double>(x.cols);
  for (std::size_t i = 0; i < x.rows; ++i) {
    Centred row{x.row(i), 0.0, 0.0};
    if (centred) {
      // The mean counts from the first element: exactly it where all are equal.
      row.first = static_cast<double>(row.x[0]);
      row.rest = sum_of<false>(row, x.cols) / n;
    }
    const double spread = sum_of<true>(row, x.cols) / n + eps;
    const double inverse = spread == 0.0 ? 0.0 : 1.0 / std::sqrt(spread);
    float* to = out.row(i);
    std::size_t j = 0;
    for (; kHasVectors && j + kDoubles <= x.cols; j += kDoubles) {
      const auto w = hn::PromoteTo(d, hn::LoadU(narrow, weight + j));
      auto y = hn::Mul(hn::Mul(row.vector_at(j), hn::Set(d, inverse)), w);
      if (bias != nullptr) y = hn::Add(y, hn::PromoteTo(d, hn::LoadU(narrow, bias + j)));
      hn::StoreU(hn::DemoteTo(narrow, y), narrow, to + j);
    }
    for (; j < x.cols; ++j) {
      const double shift = bias == nullptr ? 0.0 : static_cast<double>(bias[j]);
      to[j] = static_cast<float>(row.at(j) * inverse * static_cast<double>(weight[j]) + shift);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
