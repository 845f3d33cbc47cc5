#pragma once

#include <cstddef>
#include <string>

#include "heads/map_grid.h"
#include "heads/shades.h"

namespace mha {

inline constexpr std::size_t kNarrowestHeatmap = 20;  // columns

struct HeatmapOptions {
  Colours colours = Colours::none;
  std::size_t columns = 80;  // of the terminal; no line is longer, from the narrowest on
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

}  // namespace mha
