#pragma once

#include <string>

#include "heads/picture.h"

namespace mha {

// The picture as one SVG file that refers to nothing outside it and runs nothing. Its texts
// stay text; cells are rectangles, like neighbours in one, or where there are many an
// embedded PNG a map, so that the file stays small.
std::string svg(const Picture& picture);

}  // namespace mha
