#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "heads/map_grid.h"
#include "tensor/tensor.h"

// Grids of maps to draw.
namespace mha {

using Rows = std::vector<std::vector<float>>;

inline std::vector<std::string> positions(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// Heads of one layer, each [n_queries, n_keys], with positions as labels.
inline MapGrid grid_of(const std::vector<Rows>& heads) {
  MapGrid grid;
  grid.layers = {0};
  for (std::size_t head = 0; head < heads.size(); ++head) {
    grid.heads.push_back("head " + std::to_string(head));
  }
  grid.queries = positions(heads.front().size());
  grid.keys = positions(heads.front().front().size());
  grid.map = [heads](std::size_t, std::size_t head) {
    const Rows& rows = heads.at(head);
    Tensor<float> map({rows.size(), rows.front().size()});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(rows[i], map.matrix().row(i));
    }
    return map;
  };
  return grid;
}

// … that look at the query's own place with all their weight.
inline MapGrid diagonal(std::size_t n, std::size_t heads = 1, std::size_t layers = 1) {
  Rows rows(n, std::vector<float>(n, 0.0F));
  for (std::size_t i = 0; i < n; ++i) rows[i][i] = 1.0F;
  MapGrid grid = grid_of(std::vector<Rows>(heads, rows));
  grid.stack = layers > 1;
  grid.layers.resize(layers);
  for (std::size_t i = 0; i < layers; ++i) grid.layers[i] = i;
  return grid;
}

}  // namespace mha
