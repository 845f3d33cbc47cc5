#pragma once

#include <cstdint>
#include <string>

namespace mha {

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  bool operator==(const Rgb&) const = default;
};

// The one colour scale of all pictures: a share from 0 to 1 (cut to that) as a colour from
// night blue through violet, red and orange to cream. Equal steps of it are equal steps of
// lightness in OKLab (Ottosson 2020), so that it reads in grey and without red or green, too.
Rgb colour_of(double share) noexcept;

// In place of a colour: the row of a query that sees no key. The scale has no grey.
inline constexpr Rgb kNoKeyColour{128, 128, 128};

// "#1f3a5c", as CSS and SVG name it.
std::string hex(Rgb colour);

// Number of the nearest colour among 16 to 255 of a terminal's palette; those below are the
// user's own.
int palette_index(Rgb colour) noexcept;

}  // namespace mha
