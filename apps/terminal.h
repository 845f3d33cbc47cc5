#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "heads/shades.h"

namespace mha {

// How standard output shows pictures.
struct Screen {
  Colours colours = Colours::none;
  std::size_t columns = 80;
};

// What the command line says: --color auto, truecolor, 256 or never, and --width. Where it
// leaves the choice, colours need a terminal that is not dumb, and no NO_COLOR
// (no-color.org); COLORTERM or TERM say how many. Columns are COLUMNS', the terminal's or 80.
// Throws Error for another word.
Screen screen_of(const std::string& color, std::optional<std::size_t> width);

}  // namespace mha
