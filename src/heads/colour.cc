#include "heads/colour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace mha {
namespace {

struct Lab {
  double lightness, a, b;
};

// Ottosson 2020, "A perceptual color space for image processing": the matrices of OKLab.
std::array<double, 3> linear_rgb(Lab lab) {
  const double l = std::pow(lab.lightness + 0.3963377774 * lab.a + 0.2158037573 * lab.b, 3);
  const double m = std::pow(lab.lightness - 0.1055613458 * lab.a - 0.0638541728 * lab.b, 3);
  const double s = std::pow(lab.lightness - 0.0894841775 * lab.a - 1.2914855480 * lab.b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

Lab lab_of(Rgb colour) {
  const auto linear = [](std::uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double r = linear(colour.red);
  const double g = linear(colour.green);
  const double b = linear(colour.blue);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

// sRGB's curve (IEC 61966-2-1).
std::uint8_t channel_of(double linear) {
  const double c = std::clamp(linear, 0.0, 1.0);
  const double curved = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255.0 * curved));
}

// Hues a and b along the scale, at even steps: night blue, indigo, violet, red, orange, cream.
// Each is as strong as sRGB allows at its lightness, or nearly.
struct Hue {
  double a, b;
};
constexpr std::array<Hue, 6> kHues = {{{0.004, -0.050},
                                       {0.046, -0.128},
                                       {0.160, -0.072},
                                       {0.165, 0.076},
                                       {0.056, 0.132},
                                       {-0.010, 0.054}}};
constexpr double kDarkest = 0.17;
constexpr double kLightest = 0.965;

// The curve through p1 and p2 whose slopes are those of their neighbours (Catmull and Rom
// 1974): straight lines would show as edges in the scale.
double through(double p0, double p1, double p2, double p3, double x) {
  return p1 +
         0.5 * x *
             (p2 - p0 +
              x * (2.0 * p0 - 5.0 * p1 + 4.0 * p2 - p3 + x * (3.0 * (p1 - p2) + p3 - p0)));
}

// A terminal's colour 16 + 36 r + 6 g + b of a cube, or 232 + i of greys.
Rgb palette_colour(int index) {
  if (index >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - 232));
    return {grey, grey, grey};
  }
  const auto channel = [](int step) {
    return static_cast<std::uint8_t>(step == 0 ? 0 : 55 + 40 * step);
  };
  const int cube = index - 16;
  return {channel(cube / 36), channel(cube / 6 % 6), channel(cube % 6)};
}

}  // namespace

Rgb colour_of(double share) noexcept {
  share = std::clamp(share, 0.0, 1.0);
  const double at = share * (kHues.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(at), kHues.size() - 2);
  const Hue& before = kHues[i == 0 ? 0 : i - 1];
  const Hue& from = kHues[i];
  const Hue& to = kHues[i + 1];
  const Hue& behind = kHues[std::min(i + 2, kHues.size() - 1)];
  const double x = at - static_cast<double>(i);
  const auto [r, g, b] = linear_rgb({kDarkest + share * (kLightest - kDarkest),
                                     through(before.a, from.a, to.a, behind.a, x),
                                     through(before.b, from.b, to.b, behind.b, x)});
  return {channel_of(r), channel_of(g), channel_of(b)};
}

std::string hex(Rgb colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour.red, colour.green,
                colour.blue);
  return text.data();
}

int palette_index(Rgb colour) noexcept {
  const Lab wanted = lab_of(colour);
  int nearest = 16;
  double least = 1e9;
  for (int index = 16; index < 256; ++index) {
    const Lab lab = lab_of(palette_colour(index));
    const double distance =
        std::hypot(lab.lightness - wanted.lightness, lab.a - wanted.a, lab.b - wanted.b);
    if (distance >= least) continue;
    least = distance;
    nearest = index;
  }
  return nearest;
}

}  // namespace mha
