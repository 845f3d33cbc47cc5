#include "heads/glyphs.h"

#include <set>
#include <string>

#include "catch.h"

using namespace mha;

namespace {

std::string shape(const std::string& character) {
  std::string text;
  for (const PenStroke& stroke : pen_strokes(character)) {
    for (const float at : {stroke.x0, stroke.y0, stroke.x1, stroke.y1}) {
      text += std::to_string(at) + " ";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("every printable ASCII character looks like no other") {
  std::set<std::string> shapes = {shape("猫"), shape("é")};
  CHECK(shapes.size() == 2);
  CHECK(shape(" ").empty());
  for (char c = '!'; c <= '~'; ++c) {
    INFO(c);
    CHECK(shapes.insert(shape(std::string(1, c))).second);
  }
}

TEST_CASE("letters stay within their column") {
  for (char c = '!'; c <= '~'; ++c) {
    INFO(c);
    for (const PenStroke& stroke : pen_strokes(std::string(1, c))) {
      for (const float x : {stroke.x0, stroke.x1}) CHECK((x >= 0.0F && x <= 8.0F));
      for (const float y : {stroke.y0, stroke.y1}) CHECK((y >= -4.0F && y <= 14.0F));
    }
  }
}

TEST_CASE("a character without a shape of its own is a box, as wide as it is") {
  CHECK(pen_strokes("é").size() == 4);
  CHECK(pen_strokes("é")[0].x1 == 8.0F);
  CHECK(pen_strokes("猫")[0].x1 == 18.0F);
  CHECK(pen_strokes("\xCC\x81").empty());  // a combining acute
  CHECK(has_letters_of("[CLS] ##a…"));
  CHECK(has_letters_of("e\xCC\x81"));
  CHECK_FALSE(has_letters_of("a 猫"));
}
