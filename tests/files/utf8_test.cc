#include "files/utf8.h"

#include "catch.h"

using namespace mha;

TEST_CASE("well-formed UTF-8 is told from what is none") {
  for (const char* text : {"", "a", "é", "中", "𝒜", "\uFFFD", "\U0010FFFF", "aé中𝒜"}) {
    CHECK(is_utf8(text));
  }
  for (const char* text : {"\x80", "\xC0\x80", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5", "a\xFF"}) {
    CHECK_FALSE(is_utf8(text));
  }
}

TEST_CASE("code points come out of UTF-8 and go into it") {
  const std::u32string points = {U'a',   0x7F,   0x80,   0x7FF,   0x800,
                                 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
  std::string text;
  for (const char32_t point : points) append_utf8(text, point);
  CHECK(text.size() == 1 + 1 + 2 + 2 + 3 + 3 + 3 + 3 + 4 + 4);
  CHECK(is_utf8(text));
  CHECK(code_points(text) == points);
  CHECK(code_points("a\xFF\xE2\x82z\xC3") == U"az");
}
