#include "input/wordpiece.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace mha;

namespace {

using Tokens = std::vector<std::string>;

// A vocabulary in which words of interest split as they do by BERT's own.
const Tokens kVocabulary = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",     "##aff",
                            "##able", "hello", "wor",   "##ld",  "##s",    "i",      "##i",
                            "!",      ",",     "'",     "$",     "[",      "]",      "mask",
                            "don",    "t",     "中",    "文",    "な",     "##な",   "strasse",
                            "straße", "σ",     "##σ",   "##α",   "a",      "##a",    "Hello",
                            "é",      "##é",   "`",     "##中",  "中文",   "unused", "##1"};

Tokens split(const std::string& text, const TextSettings& settings = {},
             const Tokens& vocabulary = kVocabulary) {
  Tokens tokens;
  for (const Piece& piece : WordPiece(vocabulary, settings).split(text)) {
    tokens.push_back(piece.text);
  }
  return tokens;
}

// The words before they are cut into pieces: without a vocabulary they are all unknown.
Tokens words(const std::string& text, const TextSettings& settings = {}) {
  return split(text, settings, {});
}

const TextSettings kCased{false, false, true, "", ""};

}  // namespace

TEST_CASE("a word is cut into the longest pieces that are known") {
  CHECK(split("unaffable") == Tokens{"un", "##aff", "##able"});
  CHECK(split("UNaffable hello") == Tokens{"un", "##aff", "##able", "hello"});
  CHECK(split("worlds") == Tokens{"wor", "##ld", "##s"});
  CHECK(split("unwanted") == Tokens{"[UNK]"});
  CHECK(split("hello unwanted hello") == Tokens{"hello", "[UNK]", "hello"});
  CHECK(split("").empty());
  CHECK(split(" \t\r\n ").empty());
}

TEST_CASE("pieces have the numbers of their rows") {
  const TextSettings settings;
  const auto pieces = WordPiece(kVocabulary, settings).split("hello unaffable unwanted!");
  REQUIRE(pieces.size() == 6);
  const std::vector<std::size_t> numbers = {8, 5, 6, 7, 1, 14};
  const std::vector<std::size_t> places = {0, 1, 1, 1, 2, 2};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK(pieces[i].number == numbers[i]);
    CHECK(pieces[i].word == places[i]);
  }
  CHECK(pieces[4].unknown == "unwanted");
  CHECK(pieces[5].unknown.empty());
  SECTION("of two rows of one word the later is meant, as a dictionary keeps it") {
    const Tokens twice = {"a", "b", "a"};
    CHECK(WordPiece(twice, settings).split("a")[0].number == 2);
  }
}

TEST_CASE("without [UNK] an unknown word is itself and has no row") {
  const Tokens vocabulary = {"the"};
  const TextSettings settings;
  const auto pieces = WordPiece(vocabulary, settings).split("The Zebra");
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].number == 0);
  CHECK(pieces[1].number == Piece::kNone);
  CHECK(pieces[1].text == "zebra");
  CHECK(pieces[1].unknown == "zebra");
  CHECK(pieces[1].word == 1);
}

TEST_CASE("accents and case go where the settings say so") {
  CHECK(words("Héllo Wörld") == Tokens{"hello", "world"});
  CHECK(words("He\u0301llo") == Tokens{"hello"});
  CHECK(words("Héllo", kCased) == Tokens{"Héllo"});
  CHECK(words("He\u0301llo", kCased) == Tokens{"He\u0301llo"});
  CHECK(words("HÉLLO", {true, false, true, "", ""}) == Tokens{"héllo"});
  CHECK(words("HÉLLO", {false, true, true, "", ""}) == Tokens{"HELLO"});
  CHECK(words("Ångström ÇA Ñandú Đỗ") == Tokens{"angstrom", "ca", "nandu", "đo"});
}

TEST_CASE("case is of each character by itself") {
  CHECK(words("ΣΟΦΟΣ") == Tokens{"σοφοσ"});  // no final ς
  CHECK(words("ς") == Tokens{"ς"});
  CHECK(words("Straße STRASSE ẞ") == Tokens{"straße", "strasse", "ß"});
  CHECK(words("İstanbul Iı") == Tokens{"istanbul", "iı"});
  CHECK(words("İ", {true, false, true, "", ""}) == Tokens{"i\u0307"});
  CHECK(words("\u212A \u212B") == Tokens{"k", "a"});  // signs for Kelvin and Ångström
}

TEST_CASE("punctuation stands alone") {
  CHECK(words("Hello, world!") == Tokens{"hello", ",", "world", "!"});
  CHECK(words("don't") == Tokens{"don", "'", "t"});
  CHECK(words("a$b^c`d+e") == Tokens{"a", "$", "b", "^", "c", "`", "d", "+", "e"});
  CHECK(words("«a»…—b") == Tokens{"«", "a", "»", "…", "—", "b"});
  CHECK(words("¡a¿") == Tokens{"¡", "a", "¿"});
  CHECK(words("5€ ©x") == Tokens{"5€", "©x"});        // signs, no punctuation
  CHECK(words("a\u1FEFb") == Tokens{"a", "`", "b"});  // decomposes to one
  CHECK(words("a\u1FEFb", kCased) == Tokens{"a\u1FEFb"});
}

TEST_CASE("CJK characters stand alone, Kana and Hangul do not") {
  CHECK(words("ahou中文a") == Tokens{"ahou", "中", "文", "a"});
  CHECK(split("中文") == Tokens{"中", "文"});
  CHECK(words("ななa") == Tokens{"ななa"});
  CHECK(words("𠀀x\uF900") == Tokens{"𠀀", "x", "\u8C48"});
  CHECK(words("\uF900", kCased) == Tokens{"\uF900"});
  CHECK(words("한국") == Tokens{"\u1112\u1161\u11ab\u1100\u116e\u11a8"});  // decomposed
  CHECK(words("한국", kCased) == Tokens{"한국"});
  TextSettings together;
  together.split_chinese = false;
  CHECK(split("中文", together) == Tokens{"中文"});
}

TEST_CASE("what is no text is left out") {
  CHECK(words(std::string("a\0b\x07"
                          "c\x7f",
                          6)) == Tokens{"abc"});
  CHECK(words("a\u200Bb\u00ADc\uFEFFd\uFFFDe") == Tokens{"abcde"});
  CHECK(words("a\xFF"
              "b\xE2\x82 c\xC3") == Tokens{"ab", "c"});  // no UTF-8
  CHECK(words("a\u00A0b\u3000c\u2003d\u2028e\u2029f") == Tokens{"a", "b", "c", "d", "e", "f"});
  CHECK(words("\uE000a") == Tokens{"a"});  // private use
}

TEST_CASE("words of more than a hundred characters are unknown") {
  const Tokens vocabulary = {"[UNK]", "a", "##a", "é", "##é"};
  CHECK(split(std::string(100, 'a'), {}, vocabulary).size() == 100);
  CHECK(split(std::string(101, 'a'), {}, vocabulary) == Tokens{"[UNK]"});
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "é";
  CHECK(split(accents, kCased, vocabulary).size() == 100);
}

TEST_CASE("special tokens that are known stay whole, to the letter") {
  CHECK(split("hello [MASK]!") == Tokens{"hello", "[MASK]", "!"});
  CHECK(split("hello[MASK]i[SEP]") == Tokens{"hello", "[MASK]", "i", "[SEP]"});
  CHECK(split("[mask]") == Tokens{"[", "mask", "]"});
  CHECK(split("[unused1]") == Tokens{"[", "unused", "##1", "]"});
  CHECK(words("[MASK]") == Tokens{"[", "mask", "]"});
  SECTION("those that begin and end a text too") {
    const TextSettings settings{true, true, true, "<S>", "<S>!"};
    const Tokens vocabulary = {"<S>", "<S>!", "a", "!"};
    CHECK(split("a<S>a<S>!", settings, vocabulary) == Tokens{"a", "<S>", "a", "<S>!"});
  }
}
