#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heads/cells.h"
#include "heads/colour.h"
#include "heads/map_grid.h"

namespace mha {

// What PNG and SVG draw, in pixels from the upper left: a panel for each map, a layer's heads
// side by side, axes named "query" and "key" with their labels, a title, a scale.
struct Picture {
  enum class Anchor { start, middle, end };  // what of a text is at its x
  enum class Size { label, title };
  enum class Ink { strong, faint };
  struct Text {
    std::string text;  // printable()
    int x = 0;
    int y = 0;  // of the baseline
    Anchor anchor = Anchor::start;
    bool upwards = false;  // turned by a quarter about x, y: reads from below
    Size size = Size::label;
    Ink ink = Ink::strong;
  };
  struct Panel {
    int x = 0;
    int y = 0;
    int cell = 1;  // pixels each way
    Cells cells;
  };
  struct Bar {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
  };

  int width = 0;  // at most kMostPixels, as the height
  int height = 0;
  std::vector<Text> texts;
  std::vector<Panel> panels;
  WeightScale scale;
  Bar bar;  // that shows it

  // 0 to kSteps - 1 along the scale, kNoKeyStep for Cells::kNoKey.
  std::size_t step_of(float weight) const;
  static Rgb colour_of_step(std::size_t step);
  static constexpr std::size_t kSteps = 220;
  static constexpr std::size_t kNoKeyStep = kSteps;
};

inline constexpr int kMostPixels = 8192;
inline constexpr float kLabelUnit = 1.4F;  // pixels of the letters' grid (heads/glyphs.h)
inline constexpr float kTitleUnit = 1.8F;

// Pixels are half as large as text on a screen wants them. Maps that are larger than their
// panel are drawn a block a cell, and the picture says so. Throws Error for more maps than
// fit in one picture, and what the grid's map throws.
Picture picture_of(const MapGrid& grid);

}  // namespace mha
