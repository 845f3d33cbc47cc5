#pragma once

#include <string>

#include "input/maps.h"

namespace mha {

// open_maps(), with a warning where the meaning of an axis was guessed.
MapsFile open_maps_file(const std::string& spec, const MapsOptions& options);

}  // namespace mha
