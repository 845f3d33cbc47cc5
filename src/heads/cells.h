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

// All maps of a grid, one behind the other: layers, and within them heads.
struct CellGrid {
  std::vector<Cells> panels;  // [layers * heads]
  float largest = 0.0F;       // weight of all
};

// Throws Error(Fault::system) where they do not fit in memory, and what the grid's map throws.
CellGrid cells_of(const MapGrid& grid, CellSize size);

// A weight to two digits that count, and two decimals: "1.00", "0.87", "0.0034".
std::string weight_text(float weight);

}  // namespace mha
