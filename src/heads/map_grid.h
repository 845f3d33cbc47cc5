#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace mha {

// The maps of one sequence that a picture shows: a grid, a row a layer and a column a head.
// Only one map is held at a time, since all of them may be gigabytes.
struct MapGrid {
  std::string title;                 // what they are of: a file, a sentence; may be empty
  bool stack = false;                // layers have numbers; else there is one, without
  std::vector<std::size_t> layers;   // number of each row of the grid, as the model counts
  std::vector<std::string> heads;    // name of each column: "head 0", "mean over heads"
  std::vector<std::string> queries;  // labels [n_queries]
  std::vector<std::string> keys;     // labels [n_keys]
  // Map [n_queries, n_keys] at a place in the grid, both counted from 0: weights from 0 to 1.
  // Rows sum up to 1, to 0 where a query sees no key, to less where keys were chosen. May
  // throw Error.
  std::function<Tensor<float>(std::size_t layer, std::size_t head)> map;

  // "layer 3, head 0", "head 0".
  std::string name_of(std::size_t layer, std::size_t head) const;
};

}  // namespace mha
