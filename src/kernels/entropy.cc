#include "kernels/entropy.h"

#include <cmath>

#include "kernels/simd_table.h"

namespace mha {

double entropy_of_mean(const float* p, const float* q, std::size_t n) noexcept {
  return 0.0 - static_cast<double>(simd().sum_m_ln_m(p, q, n));
}

double entropy_of_mean(const double* p, const double* q, std::size_t n) noexcept {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double m = (p[j] + q[j]) / 2.0;
    if (m > 0.0) sum -= m * std::log(m);
  }
  return sum;
}

}  // namespace mha
