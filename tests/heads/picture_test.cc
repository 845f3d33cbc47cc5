#include "heads/picture.h"

#include <algorithm>

#include "catch.h"
#include "heads/glyphs.h"
#include "heads/grid.h"
#include "support/error_of.h"

using namespace mha;

namespace {

// Baselines are half a capital letter off the middle.
const int kHalfLetter = static_cast<int>(kGlyphHeight * kLabelUnit) / 2;

std::vector<Picture::Text> texts_named(const Picture& picture, const std::string& text) {
  std::vector<Picture::Text> found;
  std::ranges::copy_if(picture.texts, std::back_inserter(found),
                       [&](const Picture::Text& each) { return each.text == text; });
  return found;
}

int right_of(const Picture::Panel& panel) {
  return panel.x + static_cast<int>(panel.cells.cols) * panel.cell;
}
int bottom_of(const Picture::Panel& panel) {
  return panel.y + static_cast<int>(panel.cells.rows) * panel.cell;
}

void check_bounds(const Picture& picture) {
  CHECK(picture.width <= kMostPixels);
  CHECK(picture.height <= kMostPixels);
  for (const Picture::Panel& panel : picture.panels) {
    CHECK(panel.x > 0);
    CHECK(panel.y > 0);
    CHECK(right_of(panel) < picture.width);
    CHECK(bottom_of(panel) < picture.height);
  }
  for (const Picture::Text& text : picture.texts) {
    CHECK((text.x >= 0 && text.x < picture.width));
    CHECK((text.y >= 0 && text.y < picture.height));
  }
}

}  // namespace

TEST_CASE("layers are below each other and their heads side by side") {
  const Picture picture = picture_of(diagonal(12, 3, 2));
  check_bounds(picture);
  REQUIRE(picture.panels.size() == 6);
  CHECK(picture.panels[0].y == picture.panels[2].y);
  CHECK(picture.panels[0].x == picture.panels[3].x);
  CHECK(picture.panels[1].x > right_of(picture.panels[0]));
  CHECK(picture.panels[3].y > bottom_of(picture.panels[0]));
  REQUIRE(texts_named(picture, "layer 1, head 2").size() == 1);
  CHECK(texts_named(picture, "layer 1, head 2")[0].x == picture.panels[5].x);
  CHECK(texts_named(picture, "query").size() == 2);  // a line
  CHECK(texts_named(picture, "key").size() == 6);    // a panel
}

TEST_CASE("heads of one layer take lines of four") {
  const Picture picture = picture_of(diagonal(4, 6));
  CHECK(picture.panels[3].y == picture.panels[0].y);
  CHECK(picture.panels[4].x == picture.panels[0].x);
  check_bounds(picture);
}

TEST_CASE("labels stand at the middle of their row and column") {
  MapGrid grid = diagonal(3);
  grid.queries = {"q0", "q1", "q2"};
  grid.keys = {"k0", "k1", "k2"};
  grid.title = "a sentence";
  const Picture picture = picture_of(grid);
  const Picture::Panel& panel = picture.panels.at(0);
  const Picture::Text query = texts_named(picture, "q1").at(0);
  CHECK(query.anchor == Picture::Anchor::end);
  CHECK(query.x < panel.x);
  CHECK(std::abs(query.y - kHalfLetter - (panel.y + panel.cell * 3 / 2)) <= 1);
  const Picture::Text key = texts_named(picture, "k2").at(0);
  CHECK(key.upwards);
  CHECK(key.y > bottom_of(panel));
  CHECK(std::abs(key.x - kHalfLetter - (panel.x + panel.cell * 5 / 2)) <= 1);
  CHECK(texts_named(picture, "a sentence").at(0).size == Picture::Size::title);
  CHECK(texts_named(picture, "1.00").size() == 1);
  check_bounds(picture);
}

TEST_CASE("labels that do not fit below each other are left out evenly") {
  const Picture picture = picture_of(diagonal(300));
  CHECK(picture.panels.at(0).cells.cols == 300);
  CHECK(texts_named(picture, "0").size() == 3);  // query, key, and of the scale
  CHECK(texts_named(picture, "1").empty());
  CHECK(texts_named(picture, "13").size() == 2);
  CHECK(texts_named(picture, "26").size() == 2);
  CHECK(texts_named(picture, "1.00 (middle 0.086)").size() == 1);
}

TEST_CASE("maps that are larger than their panel are drawn in blocks, with a note") {
  MapGrid grid = diagonal(1);
  grid.queries = grid.keys = positions(8192);
  grid.map = [](std::size_t, std::size_t) {
    Tensor<float> map = Tensor<float>::zeros({8192, 8192});
    for (std::size_t i = 0; i < 8192; ++i) map.matrix()(i, 0) = 1.0F;
    return map;
  };
  const Picture picture = picture_of(grid);
  check_bounds(picture);
  CHECK(picture.panels.at(0).cell == 1);
  CHECK(picture.panels.at(0).cells.cols == 1366);
  CHECK(picture.panels.at(0).cells(1365, 0) == 1.0F);
  CHECK(texts_named(picture, "a cell: the largest weight of 6 queries × 6 keys").size() == 1);
}

TEST_CASE("many maps are drawn smaller, and more than fit are refused") {
  check_bounds(picture_of(diagonal(64, 24, 24)));
  check_bounds(picture_of(diagonal(2, 12, 32)));
  check_bounds(picture_of(diagonal(40, 100)));
  CHECK(error_of([] { picture_of(diagonal(2, 100, 100)); }) ==
        "10000 maps do not fit in a picture of 8192 pixels; choose layers or heads");
}

TEST_CASE("a query that sees no key is grey, and a note says so") {
  const Picture picture = picture_of(grid_of({Rows{{0, 0}, {1, 0}}}));
  const Cells& cells = picture.panels.at(0).cells;
  CHECK(Picture::colour_of_step(picture.step_of(cells(0, 0))) == kNoKeyColour);
  CHECK(Picture::colour_of_step(picture.step_of(cells(1, 0))) == colour_of(1.0));
  CHECK(Picture::colour_of_step(picture.step_of(cells(1, 1))) == colour_of(0.0));
  CHECK(texts_named(picture, "grey: a query that sees no key").size() == 1);
}

TEST_CASE("maps of other sides than square, of nothing, and no maps have a picture") {
  check_bounds(picture_of(grid_of({Rows{std::vector<float>(500, 0.002F)}})));
  check_bounds(picture_of(grid_of({Rows(500, {1.0F})})));
  MapGrid grid = diagonal(2);
  grid.map = [&grid](std::size_t, std::size_t) {
    return Tensor<float>::zeros({grid.queries.size(), grid.keys.size()});
  };
  SECTION("no keys") { grid.keys.clear(); }
  SECTION("no queries") { grid.queries.clear(); }
  SECTION("neither") {
    grid.keys.clear();
    grid.queries.clear();
  }
  CHECK(picture_of(grid).panels.size() == 1);
}

TEST_CASE("labels that are not drawn take no room") {
  const Picture picture = picture_of(diagonal(40, 2));
  MapGrid grid = diagonal(40, 2);
  REQUIRE(texts_named(picture, "1").empty());
  grid.queries[1] = grid.keys[1] = "a-long-token";
  const Picture same = picture_of(grid);
  REQUIRE(same.panels[0].cell == picture.panels[0].cell);
  CHECK(same.width == picture.width);
  CHECK(same.height == picture.height);
}

TEST_CASE("labels and title are printable and cut") {
  MapGrid grid = diagonal(2);
  grid.queries[0] = "a\nb";
  grid.keys[1] = "a-very-long-token-name";
  grid.title = std::string(1000, 't');
  const Picture picture = picture_of(grid);
  CHECK(texts_named(picture, "a\\x0Ab").size() == 1);
  CHECK(texts_named(picture, "a-very-long-tok…").size() == 1);
  CHECK(picture.texts.at(0).text.size() < 200);
  check_bounds(picture);
}
