#pragma once

#include <cstddef>
#include <span>

#include "layer/mask.h"
#include "tensor/tensor.h"

namespace mha {

// T5's relative positions (Raffel et al. 2020, section 2.1): a learned bias a
// head for each bucket of distances, added to the scaled scores.

// The bucket of a key `distance` positions behind the query (negative: before
// it), as the released models count: half of the buckets for each direction, of
// these half a distance each, the others ever wider up to relative_distance,
// where the last one begins to take all. The logarithm is f32's in either precision.
// REQUIRES: an even number of buckets, 4 at least; relative_distance > buckets / 4.
std::size_t relative_bucket(std::ptrdiff_t distance, std::size_t buckets,
                            std::size_t relative_distance) noexcept;

// relative_bias [buckets, n_heads] spread over all distances that there are,
// [n_heads, n_queries + n_keys - 1]: query i and key j find theirs in column
// n_queries - 1 + j - i.
template <typename T>
Tensor<T> bias_by_distance(const Tensor<T>& relative_bias, std::size_t relative_distance,
                           const MaskAxes& axes, const FirstPositions& first);

// Adds one head's row of it to scores [rows, keys] of the queries from
// first_query and the keys from first_key on.
template <typename T>
void add_by_distance(std::span<const T> bias, std::size_t n_queries, std::size_t first_query,
                     std::size_t first_key, MatrixView<T> scores) noexcept;

}  // namespace mha
