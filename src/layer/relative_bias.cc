#include "layer/relative_bias.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mha {

std::size_t relative_bucket(std::ptrdiff_t distance, std::size_t buckets,
                            std::size_t relative_distance) noexcept {
  const std::size_t direction = buckets / 2;
  const std::size_t exact = direction / 2;
  assert(buckets % 2 == 0 && exact > 0 && relative_distance > exact);
  const std::size_t first = distance > 0 ? direction : 0;
  const auto away = static_cast<std::size_t>(distance > 0 ? distance : -distance);
  if (away < exact) return first + away;
  const auto unit = static_cast<float>(exact);
  const float share = std::log(static_cast<float>(away) / unit) /
                      std::log(static_cast<float>(relative_distance) / unit);
  const auto wide = static_cast<std::size_t>(share * static_cast<float>(direction - exact));
  return first + std::min(exact + wide, direction - 1);
}

template <typename T>
Tensor<T> bias_by_distance(const Tensor<T>& relative_bias, std::size_t relative_distance,
                           const MaskAxes& axes, const FirstPositions& first) {
  const std::size_t buckets = relative_bias.shape()[0];
  Tensor<T> result({axes.n_heads, axes.n_queries + axes.n_keys - 1});
  // Of the last query and the first key.
  const auto least = static_cast<std::ptrdiff_t>(first.key) -
                     static_cast<std::ptrdiff_t>(first.query + axes.n_queries - 1);
  for (std::size_t c = 0; c < result.shape()[1]; ++c) {
    const std::size_t bucket =
        relative_bucket(least + static_cast<std::ptrdiff_t>(c), buckets, relative_distance);
    for (std::size_t head = 0; head < axes.n_heads; ++head) {
      result.matrix()(head, c) = relative_bias.matrix()(bucket, head);
    }
  }
  return result;
}

template <typename T>
void add_by_distance(std::span<const T> bias, std::size_t n_queries, std::size_t first_query,
                     std::size_t first_key, MatrixView<T> scores) noexcept {
  assert(bias.size() >= n_queries + first_key + scores.cols - 1);
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const T* of_first_key = bias.data() + n_queries - 1 - (first_query + i) + first_key;
    T* row = scores.row(i);
    for (std::size_t j = 0; j < scores.cols; ++j) row[j] += of_first_key[j];
  }
}

template Tensor<float> bias_by_distance(const Tensor<float>&, std::size_t, const MaskAxes&,
                                        const FirstPositions&);
template Tensor<double> bias_by_distance(const Tensor<double>&, std::size_t, const MaskAxes&,
                                         const FirstPositions&);
template void add_by_distance(std::span<const float>, std::size_t, std::size_t, std::size_t,
                              MatrixView<float>) noexcept;
template void add_by_distance(std::span<const double>, std::size_t, std::size_t, std::size_t,
                              MatrixView<double>) noexcept;

}  // namespace mha
