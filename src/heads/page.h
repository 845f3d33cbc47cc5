#pragma once

#include <cstddef>

#include "files/whole_file.h"
#include "heads/map_grid.h"
#include "heads/packed_map.h"

namespace mha {

struct PageContents {
  WeightBits bits = WeightBits::sixteen;
  std::size_t left_out = 0;  // maps that had no room, the last ones of the grid
};

// Writes all maps of the grid as one HTML page (page/) that needs nothing else: its policy
// forbids every fetch and every script but its own. Weights take sixteen bits; eight where the
// page would be larger than `limit` bytes; and where even these are too many, the last maps
// are left out, as the page says. Labels and title are text, whatever they hold. REQUIRES a
// layer, a head, a query and a key. Throws Error where not one map fits.
PageContents write_page(WholeFile& file, const MapGrid& grid, std::size_t limit = 20'000'000);

}  // namespace mha
