#include "heads/map_grid.h"

namespace mha {

std::string MapGrid::name_of(std::size_t layer, std::size_t head) const {
  return (stack ? "layer " + std::to_string(layers.at(layer)) + ", " : "") + heads.at(head);
}

}  // namespace mha
