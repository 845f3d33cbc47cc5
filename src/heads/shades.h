#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heads/cells.h"

namespace mha {

enum class Colours {
  none,       // shades of block characters
  palette,    // the 256 colours of a terminal
  truecolour  // all of them
};

// Cells as characters of a terminal: shares of the largest weight as colours of the scale,
// or as shades between a frame's bars.
class Shades {
 public:
  Shades(Colours colours, const WeightScale& scale);

  std::size_t frame_width() const { return plain() ? 1 : 0; }  // on each side of a row

  // A row of cells, `width` columns each; two rows of them, one above the other in a line, a
  // column each. REQUIRES for the latter: colours.
  std::string row(const Cells& cells, std::size_t row, std::size_t width) const;
  std::string halves(const Cells& cells, std::size_t upper) const;

  std::string scale() const;   // from 0 to the largest weight
  std::string no_key() const;  // how the row of a query that sees no key looks
  std::string bold(const std::string& text) const;

 private:
  bool plain() const { return colours_ == Colours::none; }
  std::size_t step_of(float weight) const;

  Colours colours_;
  WeightScale scale_;
  std::vector<std::string> steps_;  // what names each colour to a terminal, last no key's
};

}  // namespace mha
