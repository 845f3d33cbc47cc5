#pragma once

#include <cstdint>
#include <vector>

#include "heads/colour.h"
#include "heads/picture.h"

namespace mha {

// Pixels, row by row, as numbers of colours.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<Rgb> palette;          // at most 256
  std::vector<std::uint8_t> pixels;  // [height, width]
};

// The picture with its texts drawn (heads/glyphs.h). Throws Error(Fault::system) where it does
// not fit in memory.
Image draw(const Picture& picture);

}  // namespace mha
