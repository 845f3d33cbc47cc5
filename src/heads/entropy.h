#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mha {

// -x ln x, 0 at 0.
inline double surprise(double x) { return x > 0.0 ? -x * std::log(x) : 0.0; }

// Of a row of n weights, in nats (Clark et al. 2019, section 3.3).
template <typename T>
double entropy_of(const T* p, std::size_t n) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) sum += surprise(static_cast<double>(p[j]));
  return sum;
}

// Of the mean of two rows.
template <typename T>
double entropy_of_mean(const T* p, const T* q, std::size_t n) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    sum += surprise((static_cast<double>(p[j]) + static_cast<double>(q[j])) / 2.0);
  }
  return sum;
}

}  // namespace mha
