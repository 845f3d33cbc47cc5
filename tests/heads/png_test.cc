#include "heads/png.h"

#include <png.h>

#include <algorithm>
#include <cstdlib>

#include "catch.h"
#include "heads/colour.h"
#include "heads/grid.h"

using namespace mha;

namespace {

struct Decoded {
  int width = 0;
  int height = 0;
  std::vector<png_byte> rgb;

  Rgb at(int x, int y) const {
    const auto i = static_cast<std::size_t>(y * width + x) * 3;
    return {rgb.at(i), rgb.at(i + 1), rgb.at(i + 2)};
  }
};

Decoded decode(const std::string& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0);
  image.format = PNG_FORMAT_RGB;
  Decoded decoded{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  decoded.rgb.resize(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, decoded.rgb.data(), 0, nullptr) != 0);
  return decoded;
}

constexpr Rgb kWhite{255, 255, 255};

// How many pixels of a rectangle are not paper.
int inked(const Decoded& image, int left, int top, int width, int height) {
  int count = 0;
  for (int y = top; y < top + height; ++y) {
    for (int x = left; x < left + width; ++x) count += image.at(x, y) == kWhite ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("an image comes back from libpng as it was") {
  const Image image{3, 2, {{1, 2, 3}, {255, 0, 128}, kWhite}, {0, 1, 2, 2, 1, 0}};
  const Decoded decoded = decode(png(image));
  CHECK(decoded.width == 3);
  CHECK(decoded.height == 2);
  CHECK(decoded.rgb == std::vector<png_byte>{1, 2, 3, 255, 0, 128, 255, 255, 255,  //
                                             255, 255, 255, 255, 0, 128, 1, 2, 3});
}

TEST_CASE("the same picture is the same file") {
  CHECK(png(draw(picture_of(diagonal(5, 2)))) == png(draw(picture_of(diagonal(5, 2)))));
}

TEST_CASE("each cell has its weight's colour from edge to edge") {
  const MapGrid grid = grid_of({Rows{{1, 0}, {.5F, .5F}}, Rows{{.25F, .75F}, {0, 0}}});
  const Picture picture = picture_of(grid);
  const Decoded image = decode(png(draw(picture)));
  CHECK(image.width == picture.width);
  CHECK(image.height == picture.height);
  const auto colour = [&](std::size_t panel, int row, int col, int dx, int dy) {
    const Picture::Panel& at = picture.panels[panel];
    return image.at(at.x + col * at.cell + dx, at.y + row * at.cell + dy);
  };
  const int last = picture.panels[0].cell - 1;
  for (const int edge : {0, last / 2, last}) {
    CHECK(colour(0, 0, 0, edge, last - edge) == colour_of(1.0));
    CHECK(colour(0, 0, 1, edge, last - edge) == colour_of(0.0));
    CHECK(colour(1, 1, 0, edge, last - edge) == kNoKeyColour);
  }
  const Rgb half = colour(0, 1, 0, 3, 3);
  CHECK(half == colour(0, 1, 1, 3, 3));
  CHECK(std::abs(half.red - colour_of(0.5).red) <= 2);
  CHECK(std::abs(colour(1, 0, 1, 3, 3).red - colour_of(0.75).red) <= 2);
  // Around a panel is paper.
  const Picture::Panel& panel = picture.panels[0];
  CHECK(image.at(panel.x - 1, panel.y) == kWhite);
  CHECK(image.at(panel.x + 2 * panel.cell, panel.y) == kWhite);
  CHECK(image.at(panel.x, panel.y + 2 * panel.cell) == kWhite);
  CHECK(image.at(0, 0) == kWhite);
  // The scale ends with both of its ends.
  const Picture::Bar& bar = picture.bar;
  CHECK(image.at(bar.x, bar.y) == colour_of(0.0));
  CHECK(image.at(bar.x + bar.width - 1, bar.y + bar.height - 1) == colour_of(1.0));
}

TEST_CASE("texts stand where their anchor says, upright and turned") {
  Picture picture;
  picture.width = 200;
  picture.height = 200;
  const Decoded blank = decode(png(draw(picture)));
  CHECK(inked(blank, 0, 0, 200, 200) == 0);

  Picture::Text text{"HHH", 100, 100};
  SECTION("start: right of it, above the baseline") {
    picture.texts = {text};
    const Decoded image = decode(png(draw(picture)));
    CHECK(inked(image, 100, 80, 44, 22) > 100);
    CHECK(inked(image, 0, 0, 99, 200) == 0);
    CHECK(inked(image, 0, 102, 200, 98) == 0);
  }
  SECTION("end: left of it") {
    text.anchor = Picture::Anchor::end;
    picture.texts = {text};
    const Decoded image = decode(png(draw(picture)));
    CHECK(inked(image, 56, 80, 46, 22) > 100);
    CHECK(inked(image, 102, 0, 98, 200) == 0);
  }
  SECTION("middle: on both sides") {
    text.anchor = Picture::Anchor::middle;
    picture.texts = {text};
    const Decoded image = decode(png(draw(picture)));
    const int left = inked(image, 78, 80, 22, 22);
    CHECK(left > 50);
    CHECK(std::abs(left - inked(image, 100, 80, 22, 22)) < 10);
  }
  SECTION("upwards and ending: below it, left of the baseline") {
    text.upwards = true;
    text.anchor = Picture::Anchor::end;
    picture.texts = {text};
    const Decoded image = decode(png(draw(picture)));
    CHECK(inked(image, 80, 98, 22, 46) > 100);
    CHECK(inked(image, 0, 0, 200, 98) == 0);
    CHECK(inked(image, 102, 0, 98, 200) == 0);
  }
  SECTION("what lies beyond the picture is not drawn") {
    for (const int x : {-50, 0, 190, 500}) picture.texts.push_back({"HHH", x, x});
    CHECK(inked(decode(png(draw(picture))), 60, 60, 80, 80) == 0);
  }
}

TEST_CASE("ink is strong or faint, and texts of all scripts leave some") {
  Picture picture;
  picture.width = 100;
  picture.height = 60;
  picture.texts = {{"猫é", 10, 40}};
  const Decoded strong = decode(png(draw(picture)));
  CHECK(inked(strong, 0, 0, 100, 60) > 100);
  const auto darkest = [](const Decoded& image) {
    return *std::ranges::min_element(image.rgb);
  };
  picture.texts[0].ink = Picture::Ink::faint;
  const Decoded faint = decode(png(draw(picture)));
  CHECK(darkest(strong) == 34);
  CHECK(darkest(faint) == 120);
}
