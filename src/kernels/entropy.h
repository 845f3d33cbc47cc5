#pragma once

#include <cstddef>

namespace mha {

// -sum m ln m of the mean m = (p + q) / 2 of two rows of n weights from 0 to 1, in nats, and
// 0 ln 0 = 0: what Jensen-Shannon distances are made of. Of p = q the row's own entropy; f32
// within 1e-6 of it.
double entropy_of_mean(const float* p, const float* q, std::size_t n) noexcept;
double entropy_of_mean(const double* p, const double* q, std::size_t n) noexcept;

// Of one row (Clark et al. 2019, section 3.3).
template <typename T>
double entropy_of(const T* p, std::size_t n) noexcept {
  return entropy_of_mean(p, p, n);
}

}  // namespace mha
