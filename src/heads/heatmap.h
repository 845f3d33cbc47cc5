#pragma once

#include <cstddef>
#include <string>

#include "heads/map_grid.h"

namespace mha {

enum class Colours {
  none,       // shades of block characters
  palette,    // the 256 colours of a terminal
  truecolour  // all of them
};

struct HeatmapOptions {
  Colours colours = Colours::none;
  std::size_t columns = 80;  // of the terminal; no line is longer, from 20 on
  std::size_t top_keys = 0;  // the heaviest keys of each query, named behind its row
};

// The maps of a grid for a terminal, side by side, a layer after the other: a line a query,
// its label before it, two columns a key and the keys' labels above, or where those do not
// fit a column a key. Long maps in colour are drawn two queries a line; what is wider than
// the terminal with k x k queries and keys a cell, its largest weight, and says so. Colours
// go from 0 to the largest weight of all, which the scale below names. With top_keys each
// map is drawn by itself. Labels cannot do anything to a terminal. Throws what the grid's
// map throws.
std::string heatmap(const MapGrid& grid, const HeatmapOptions& options);

// A weight to two digits that count, and two decimals: "1.00", "0.87", "0.0034".
std::string weight_text(float weight);

}  // namespace mha
