#pragma once

#include <string_view>
#include <vector>

namespace mha {

// A pen's way in a grid with its baseline at y = 0: capitals are 12 high, small letters 8,
// and every column of a text is kGlyphAdvance wide.
struct PenStroke {
  float x0, y0, x1, y1;
};
inline constexpr float kGlyphHeight = 12.0F;
inline constexpr float kGlyphAdvance = 10.0F;

// How one character of UTF-8 is drawn: printable ASCII, and the few others that tokens of
// GPT-2 and SentencePiece begin with or our own texts hold. Any other one is a box as wide as
// a terminal shows it (display_width).
//
// The letters are our own since a picture must come out the same on a bare machine, where no
// font file lies; SVG and HTML leave text to the viewer, who has fonts of all scripts.
std::vector<PenStroke> pen_strokes(std::string_view character);

// Whether all characters of a text are drawn as themselves.
bool has_letters_of(std::string_view text);

}  // namespace mha
