#pragma once

#include <string>

#include "heads/raster.h"

namespace mha {

// The bytes of a PNG file. Throws Error(Fault::system) with what libpng says.
std::string png(const Image& image);

}  // namespace mha
