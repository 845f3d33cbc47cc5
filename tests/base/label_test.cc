#include "base/label.h"

#include "catch.h"

using namespace mha;

TEST_CASE("text is as wide as a terminal shows it") {
  CHECK(display_width("") == 0);
  CHECK(display_width("cat") == 3);
  CHECK(display_width("naïve") == 5);
  CHECK(display_width("Straße") == 6);
  CHECK(display_width("кот") == 3);
  CHECK(display_width("猫") == 2);
  CHECK(display_width("東京は夜") == 8);
  CHECK(display_width("고양이") == 6);
  CHECK(display_width("ｶﾅ") == 2);         // half-width kana
  CHECK(display_width("Ａ") == 2);         // full-width A
  CHECK(display_width("😀") == 2);          // outside the basic plane
  CHECK(display_width("e\xCC\x81") == 1);  // e and a combining acute
  CHECK(display_width("a\xE2\x80\x8B"
                      "b") == 2);     // zero-width space
  CHECK(display_width("Ġthe") == 4);  // as GPT-2 tokens begin
}

TEST_CASE("bytes that are no UTF-8 count one each and are not read past") {
  CHECK(display_width("\xFF") == 1);
  CHECK(display_width("a\xE7\x8C") == 3);  // 猫 cut short
  CHECK(display_width("\xE7"
                      "ab") == 3);  // lead without continuation
  CHECK(display_width("\x80\x80") == 2);
  CHECK(display_width("\xF0\x9F\x98") == 3);
}

TEST_CASE("a character is as many bytes as its UTF-8 has") {
  CHECK(character_bytes("cat") == 1);
  CHECK(character_bytes("ürün") == 2);
  CHECK(character_bytes("猫") == 3);
  CHECK(character_bytes("😀!") == 4);
  CHECK(character_bytes("\xE7\x8C") == 1);  // cut short
  CHECK(character_bytes("\x80") == 1);
}

TEST_CASE("a label that is too wide ends in an ellipsis within its width") {
  CHECK(cut_to_width("tokenization", 12) == "tokenization");
  CHECK(cut_to_width("tokenizations", 12) == "tokenizatio…");
  CHECK(cut_to_width("東京", 4) == "東京");
  CHECK(cut_to_width("東京都", 5) == "東京…");
  CHECK(cut_to_width("東京都", 4) == "東…");  // a wide character is not halved
  CHECK(cut_to_width("ab", 1) == "…");
  CHECK(cut_to_width("e\xCC\x81"
                     "bcd",
                     3) ==
        "e\xCC\x81"
        "b…");  // a mark stays with its letter
  for (std::size_t most = 1; most < 12; ++most) {
    CHECK(display_width(cut_to_width("a猫b東c京😀d", most)) <= most);
  }
}

TEST_CASE("padding counts columns, not bytes") {
  CHECK(pad_left("猫", 4) == "  猫");
  CHECK(pad_right("é", 3) == "é  ");
  CHECK(pad_left("long", 2) == "long");
}
