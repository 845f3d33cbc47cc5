#include "heads/colour.h"

#include <cmath>
#include <set>

#include "catch.h"

using namespace mha;

namespace {

// What a colour looks like in grey (CIE 1931, Y).
double luminance(Rgb colour) {
  const auto linear = [](std::uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) +
         0.0722 * linear(colour.blue);
}

// Lightness as an eye sees it (CIE 1976, L*).
double lightness(Rgb colour) {
  const double y = luminance(colour);
  return y > 0.008856 ? 116.0 * std::cbrt(y) - 16.0 : 903.3 * y;
}

// What is left without cones for red (Viénot, Brettel & Mollon 1999), as lightness.
double lightness_to_protanopes(Rgb colour) {
  const auto share = [](double from_green, std::uint8_t red, std::uint8_t green) {
    return from_green * green + (1.0 - from_green) * red;
  };
  const auto mixed = static_cast<std::uint8_t>(share(0.89, colour.red, colour.green));
  return lightness({mixed, mixed, colour.blue});
}

}  // namespace

TEST_CASE("the scale goes from night to cream and every step is lighter") {
  CHECK(lightness(colour_of(0.0)) < 5.0);
  CHECK(lightness(colour_of(1.0)) > 94.0);
  for (int i = 0; i < 100; ++i) {
    INFO(i);
    CHECK(lightness(colour_of((i + 1) / 100.0)) > lightness(colour_of(i / 100.0)));
  }
}

TEST_CASE("equal steps of weight are about equal steps of lightness") {
  for (int i = 0; i < 10; ++i) {
    INFO(i);
    const double step = lightness(colour_of((i + 1) / 10.0)) - lightness(colour_of(i / 10.0));
    CHECK(step > 5.0);
    CHECK(step < 14.0);
  }
}

TEST_CASE("the scale rises for those who see no red, too") {
  for (int i = 0; i < 20; ++i) {
    INFO(i);
    CHECK(lightness_to_protanopes(colour_of((i + 1) / 20.0)) >
          lightness_to_protanopes(colour_of(i / 20.0)));
  }
}

TEST_CASE("a share beyond the scale has its end's colour") {
  CHECK(colour_of(-0.5) == colour_of(0.0));
  CHECK(colour_of(1.5) == colour_of(1.0));
}

TEST_CASE("a colour has six digits in hexadecimal") { CHECK(hex({0, 128, 255}) == "#0080ff"); }

TEST_CASE("a palette's colour is found by what it looks like") {
  CHECK(palette_index({0, 0, 0}) == 16);
  CHECK(palette_index({255, 255, 255}) == 231);
  CHECK(palette_index({255, 0, 0}) == 196);
  CHECK(palette_index({95, 135, 175}) == 67);
  CHECK(palette_index({128, 128, 128}) == 244);
  CHECK(palette_index({129, 127, 128}) == 244);
}

TEST_CASE("256 colours tell at least a dozen weights apart") {
  std::set<int> indices;
  for (int i = 0; i < 256; ++i) indices.insert(palette_index(colour_of(i / 255.0)));
  CHECK(indices.size() >= 12);
  CHECK(!indices.contains(palette_index(kNoKeyColour)));
}
