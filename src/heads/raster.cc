#include "heads/raster.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/label.h"
#include "base/memory.h"
#include "heads/glyphs.h"

namespace mha {
namespace {

constexpr Rgb kPaper{255, 255, 255};
constexpr Rgb kStrong{34, 34, 48};
constexpr Rgb kFaint{120, 120, 132};

// Numbers of colours: the scale and no key's, then each ink from paper on, in this many steps.
constexpr std::size_t kInkSteps = 16;
constexpr std::size_t kStrongStart = Picture::kNoKeyStep + 1;
constexpr std::size_t kFaintStart = kStrongStart + kInkSteps;

std::uint8_t between(std::uint8_t from, std::uint8_t to, std::size_t step) {
  const double share = static_cast<double>(step) / (kInkSteps - 1);
  return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
}

std::vector<Rgb> palette() {
  std::vector<Rgb> colours;
  for (std::size_t step = 0; step <= Picture::kNoKeyStep; ++step) {
    colours.push_back(Picture::colour_of_step(step));
  }
  for (const Rgb& ink : {kStrong, kFaint}) {
    for (std::size_t step = 0; step < kInkSteps; ++step) {
      colours.push_back({between(kPaper.red, ink.red, step),
                         between(kPaper.green, ink.green, step),
                         between(kPaper.blue, ink.blue, step)});
    }
  }
  return colours;
}

// How much of each pixel a character's pen covers, 0 to kInkSteps - 1, in a frame that
// stands `left` pixels before the character and ends `below` pixels under the baseline.
struct Stamp {
  int left = 0;
  int below = 0;
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> covered;
};

float distance(float x, float y, const PenStroke& stroke) {
  const float dx = stroke.x1 - stroke.x0;
  const float dy = stroke.y1 - stroke.y0;
  const float length = dx * dx + dy * dy;
  float t = length == 0.0F ? 0.0F : ((x - stroke.x0) * dx + (y - stroke.y0) * dy) / length;
  t = std::clamp(t, 0.0F, 1.0F);
  return std::hypot(x - stroke.x0 - t * dx, y - stroke.y0 - t * dy);
}

Stamp stamp_of(std::string_view character, float unit) {
  const float pen = 0.75F * unit;  // half its width
  Stamp stamp;
  stamp.left = static_cast<int>(std::ceil(1.5F * unit));
  stamp.below = static_cast<int>(std::ceil(6.0F * unit));
  const auto columns = static_cast<float>(display_width(character));
  stamp.width = stamp.left + static_cast<int>(std::ceil(columns * kGlyphAdvance * unit));
  stamp.height = stamp.below + static_cast<int>(std::ceil((kGlyphHeight + 5.0F) * unit));
  const std::vector<PenStroke> strokes = pen_strokes(character);
  for (int row = 0; row < stamp.height; ++row) {
    for (int col = 0; col < stamp.width; ++col) {
      const float x = (static_cast<float>(col - stamp.left) + 0.5F) / unit;
      const float y = (static_cast<float>(stamp.height - stamp.below - row) - 0.5F) / unit;
      float nearest = 1e6F;
      for (const PenStroke& stroke : strokes) {
        const bool dot = stroke.x0 == stroke.x1 && stroke.y0 == stroke.y1;
        nearest = std::min(nearest, (distance(x, y, stroke) - (dot ? 0.4F : 0.0F)) * unit);
      }
      const float share = std::clamp(pen - nearest + 0.5F, 0.0F, 1.0F);
      stamp.covered.push_back(static_cast<std::uint8_t>(std::lround(share * (kInkSteps - 1))));
    }
  }
  return stamp;
}

class Canvas {
 public:
  explicit Canvas(const Picture& picture) : picture_(picture) {
    image_.width = picture.width;
    image_.height = picture.height;
    image_.palette = palette();
    const auto size =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
    require_memory(2 * size, "a picture of " + std::to_string(picture.width) + " x " +
                                 std::to_string(picture.height) + " pixels");
    image_.pixels.assign(size, static_cast<std::uint8_t>(kStrongStart));
  }

  Image draw() {
    for (const Picture::Panel& panel : picture_.panels) add(panel);
    const Picture::Bar& bar = picture_.bar;
    for (int x = 0; x < bar.width; ++x) {
      fill(
          bar.x + x, bar.y, 1, bar.height,
          static_cast<std::size_t>(x) * Picture::kSteps / static_cast<std::size_t>(bar.width));
    }
    for (const Picture::Text& text : picture_.texts) add(text);
    return std::move(image_);
  }

 private:
  void fill(int left, int top, int width, int height, std::size_t colour) {
    for (int y = top; y < top + height; ++y) {
      std::fill_n(image_.pixels.begin() + offset(left, y), width,
                  static_cast<std::uint8_t>(colour));
    }
  }
  std::ptrdiff_t offset(int x, int y) const {
    return static_cast<std::ptrdiff_t>(y) * image_.width + x;
  }

  void add(const Picture::Panel& panel) {
    for (std::size_t row = 0; row < panel.cells.rows; ++row) {
      for (std::size_t col = 0; col < panel.cells.cols; ++col) {
        fill(panel.x + static_cast<int>(col) * panel.cell,
             panel.y + static_cast<int>(row) * panel.cell, panel.cell, panel.cell,
             picture_.step_of(panel.cells(row, col)));
      }
    }
  }

  void add(const Picture::Text& text) {
    const float unit = text.size == Picture::Size::title ? kTitleUnit : kLabelUnit;
    const float column = kGlyphAdvance * unit;
    // The last column's blank belongs to no letter.
    const float length = static_cast<float>(display_width(text.text)) * column - 2.0F * unit;
    const float before = text.anchor == Picture::Anchor::start    ? 0.0F
                         : text.anchor == Picture::Anchor::middle ? length / 2.0F
                                                                  : length;
    const std::size_t ink = text.ink == Picture::Ink::strong ? kStrongStart : kFaintStart;
    std::size_t columns = 0;
    for (std::string_view rest = text.text; !rest.empty();) {
      const std::string_view character = rest.substr(0, character_bytes(rest));
      const auto along =
          static_cast<int>(std::lround(static_cast<float>(columns) * column - before));
      add(stamp(character, unit), text, along, ink);
      columns += display_width(character);
      rest.remove_prefix(character.size());
    }
  }

  // A character that begins `along` pixels behind the text's place.
  void add(const Stamp& stamp, const Picture::Text& text, int along, std::size_t ink) {
    for (int row = 0; row < stamp.height; ++row) {
      for (int col = 0; col < stamp.width; ++col) {
        const std::size_t covered =
            stamp.covered[static_cast<std::size_t>(row * stamp.width + col)];
        if (covered == 0) continue;
        const int right = along + col - stamp.left;
        const int down = row - (stamp.height - stamp.below);
        const int x = text.upwards ? text.x + down : text.x + right;
        const int y = text.upwards ? text.y - right - 1 : text.y + down;
        if (x < 0 || x >= image_.width || y < 0 || y >= image_.height) continue;
        std::uint8_t& pixel = image_.pixels[static_cast<std::size_t>(offset(x, y))];
        // Where two letters meet, the darker one.
        const std::size_t dark = pixel >= ink && pixel < ink + kInkSteps ? pixel - ink : 0;
        pixel = static_cast<std::uint8_t>(ink + std::max(dark, covered));
      }
    }
  }

  const Stamp& stamp(std::string_view character, float unit) {
    const auto key = std::pair{std::string(character), unit};
    const auto found = stamps_.find(key);
    if (found != stamps_.end()) return found->second;
    return stamps_.emplace(key, stamp_of(character, unit)).first->second;
  }

  const Picture& picture_;
  Image image_;
  std::map<std::pair<std::string, float>, Stamp> stamps_;
};

}  // namespace

Image draw(const Picture& picture) { return Canvas(picture).draw(); }

}  // namespace mha
