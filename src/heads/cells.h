#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heads/map_grid.h"
#include "tensor/view.h"

namespace mha {

// What a picture draws of a map: a cell for each query and key, or where the map is larger
// than the picture for blocks of them, by the block's largest weight.
struct Cells {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<float> weights;  // [rows, cols]; kNoKey where no query of the block sees a key

  static constexpr float kNoKey = -1.0F;
  float operator()(std::size_t row, std::size_t col) const {
    return weights[row * cols + col];
  }
};

struct CellSize {
  std::size_t queries = 1;
  std::size_t keys = 1;
};

// REQUIRES: a size of 1 or more each way.
Cells cells_of(ConstMatrixView<float> map, CellSize size);

// Where weights lie on the colour scale, one for all maps of a picture, so that they compare:
// share = (weight / largest)^power.
struct WeightScale {
  float largest = 0.0F;  // weight of all
  float power = 1.0F;

  float share_of(float weight) const;  // 0 to 1 of the scale
  float weight_at(float share) const;
  // What the largest weight is named: "0.87", "1.00 (middle 0.068)".
  std::string end_text() const;
};

// All maps of a grid, one behind the other: layers, and within them heads.
struct CellGrid {
  std::vector<Cells> panels;  // [layers * heads]
  WeightScale scale;
};

// Throws Error(Fault::system) where they do not fit in memory, and what the grid's map throws.
CellGrid cells_of(const MapGrid& grid, CellSize size);

// The power for maps over that many keys. 1 for few. Over many a row's weight is thin, and
// would be dark beside a row that sees one key, as a causal map's first: there the weight of a
// row that weighs all keys alike has a fifth of the scale.
float scale_power(std::size_t n_keys);

// A weight to two digits that count, and two decimals: "1.00", "0.87", "0.0034".
std::string weight_text(float weight);

}  // namespace mha
