#include "heads/shades.h"

#include <array>
#include <cmath>
#include <string_view>

#include "heads/colour.h"

namespace mha {
namespace {

constexpr std::size_t kSteps = 256;      // of the colour scale
constexpr std::size_t kScaleWidth = 24;  // columns
constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
constexpr std::string_view kNoKeyMark = "·";

// ECMA-48, Select Graphic Rendition; 38 and 48 with a colour's name as in ITU-T T.416.
constexpr std::string_view kReset = "\x1b[0m";
std::string foreground(const std::string& colour) { return "\x1b[38;" + colour + "m"; }
std::string background(const std::string& colour) { return "\x1b[48;" + colour + "m"; }

std::string name_of(Rgb colour, Colours colours) {
  if (colours == Colours::palette) return "5;" + std::to_string(palette_index(colour));
  return "2;" + std::to_string(colour.red) + ";" + std::to_string(colour.green) + ";" +
         std::to_string(colour.blue);
}

}  // namespace

Shades::Shades(Colours colours, const WeightScale& scale) : colours_(colours), scale_(scale) {
  if (plain()) return;
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps_.push_back(name_of(colour_of(static_cast<double>(i) / (kSteps - 1)), colours));
  }
  steps_.push_back(name_of(kNoKeyColour, colours));
}

std::size_t Shades::step_of(float weight) const {
  if (weight == Cells::kNoKey) return kSteps;
  const std::size_t last = (plain() ? kShades.size() : kSteps) - 1;
  return static_cast<std::size_t>(
      std::lround(scale_.share_of(weight) * static_cast<float>(last)));
}

std::string Shades::row(const Cells& cells, std::size_t row, std::size_t width) const {
  std::string text;
  std::size_t current = kSteps + 1;
  for (std::size_t col = 0; col < cells.cols; ++col) {
    const std::size_t step = step_of(cells(row, col));
    if (!plain() && step != current) text += background(steps_[step]);
    current = step;
    for (std::size_t i = 0; i < width; ++i) {
      text += !plain() ? " " : step == kSteps ? (i == 0 ? kNoKeyMark : " ") : kShades.at(step);
    }
  }
  return plain() ? "│" + text + "│" : text.append(kReset);
}

std::string Shades::halves(const Cells& cells, std::size_t upper) const {
  std::string text;
  std::size_t above = kSteps + 1;
  std::size_t below = kSteps + 1;
  const bool both = upper + 1 < cells.rows;
  for (std::size_t col = 0; col < cells.cols; ++col) {
    const std::size_t step = step_of(cells(upper, col));
    if (step != above) text += foreground(steps_[step]);
    above = step;
    if (both) {
      const std::size_t under = step_of(cells(upper + 1, col));
      if (under != below) text += background(steps_[under]);
      below = under;
    }
    text += "▀";
  }
  return text.append(kReset);
}

std::string Shades::scale() const {
  std::string text = "0";
  if (plain()) {
    const auto last = static_cast<float>(kShades.size() - 1);
    for (std::size_t i = 1; i < kShades.size(); ++i) {
      text.append("  ").append(kShades.at(i)).append(" ");
      text += weight_text(scale_.weight_at(static_cast<float>(i) / last));
    }
    return text;
  }
  text += " ";
  for (std::size_t i = 0; i < kScaleWidth; ++i) {
    text += background(steps_[i * (kSteps - 1) / (kScaleWidth - 1)]) + " ";
  }
  return text.append(kReset).append(" ") + scale_.end_text();
}

std::string Shades::no_key() const {
  if (plain()) return std::string(kNoKeyMark);
  return background(steps_[kSteps]).append("  ").append(kReset);
}

std::string Shades::bold(const std::string& text) const {
  if (plain()) return text;
  return "\x1b[1m" + text + std::string(kReset);
}

}  // namespace mha
