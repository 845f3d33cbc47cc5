#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <random>

#include "tensor/tensor.h"

// Maps whose pattern is known.
namespace mha {

inline Tensor<double> map_of(std::size_t rows, std::size_t cols,
                             std::initializer_list<double> values) {
  Tensor<double> map({rows, cols});
  std::ranges::copy(values, map.data());
  return map;
}

// A row spreads what `weight` leaves over the keys that it sees, and lays `weight` on one of
// them: key_of(query), none where that is not among them.
struct KnownMap {
  std::size_t n_queries = 8;
  std::size_t n_keys = 8;
  double weight = 0.9;
  bool causal = false;
};

template <typename KeyOf>
Tensor<double> map_on(const KnownMap& known, KeyOf key_of) {
  Tensor<double> map = Tensor<double>::zeros({known.n_queries, known.n_keys});
  for (std::size_t i = 0; i < known.n_queries; ++i) {
    const std::size_t seen = known.causal ? std::min(i + 1, known.n_keys) : known.n_keys;
    const std::size_t key = key_of(i);
    const double weight = key < seen ? known.weight : 0.0;
    for (std::size_t j = 0; j < seen; ++j) {
      map.matrix()(i, j) =
          (1.0 - weight) / static_cast<double>(seen) + (j == key ? weight : 0.0);
    }
  }
  return map;
}

inline Tensor<double> random_map(std::size_t rows, std::size_t cols, std::mt19937& random) {
  std::exponential_distribution<double> draw;
  Tensor<double> map({rows, cols});
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < cols; ++j) sum += map.matrix()(i, j) = draw(random);
    for (std::size_t j = 0; j < cols; ++j) map.matrix()(i, j) /= sum;
  }
  return map;
}

}  // namespace mha
