#include "base/label.h"

#include <algorithm>
#include <array>

namespace mha {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode's East_Asian_Width W and F and the emoji, by blocks.
constexpr std::array<Range, 17> kWide = {{
    {0x1100, 0x115F},    // Hangul Jamo, leading consonants
    {0x231A, 0x231B},    // watch, hourglass
    {0x23E9, 0x23EC},    // fast forward …
    {0x2E80, 0x303E},    // CJK radicals, punctuation
    {0x3041, 0x33FF},    // kana, bopomofo, CJK compatibility
    {0x3400, 0x4DBF},    // CJK extension A
    {0x4E00, 0xA4CF},    // CJK, Yi
    {0xA960, 0xA97F},    // Hangul Jamo extended A
    {0xAC00, 0xD7A3},    // Hangul syllables
    {0xF900, 0xFAFF},    // CJK compatibility ideographs
    {0xFE30, 0xFE6F},    // CJK compatibility forms
    {0xFF01, 0xFF60},    // full-width forms
    {0xFFE0, 0xFFE6},    // full-width signs
    {0x1F300, 0x1F64F},  // pictographs, faces
    {0x1F680, 0x1F6FF},  // transport
    {0x1F900, 0x1FAFF},  // more pictographs
    {0x20000, 0x3FFFD},  // CJK extensions B and on
}};

// Marks that stand on the character before them, and invisible ones, of the
// scripts in wide use.
constexpr std::array<Range, 31> kNoWidth = {{
    {0x00AD, 0x00AD},  // soft hyphen
    {0x0300, 0x036F},  // combining diacritics
    {0x0483, 0x0489},  // Cyrillic
    {0x0591, 0x05BD},  // Hebrew points
    {0x05BF, 0x05BF},  //
    {0x05C1, 0x05C2},  //
    {0x0610, 0x061A},  // Arabic marks
    {0x064B, 0x065F},  //
    {0x0670, 0x0670},  //
    {0x06D6, 0x06DC},  //
    {0x0900, 0x0902},  // Devanagari
    {0x093A, 0x093A},  //
    {0x093C, 0x093C},  //
    {0x0941, 0x0948},  //
    {0x094D, 0x094D},  //
    {0x0981, 0x0981},  // Bengali
    {0x09C1, 0x09C4},  //
    {0x09CD, 0x09CD},  //
    {0x0BCD, 0x0BCD},  // Tamil
    {0x0E31, 0x0E31},  // Thai
    {0x0E34, 0x0E3A},  //
    {0x0E47, 0x0E4E},  //
    {0x1160, 0x11FF},  // Hangul Jamo, vowels and trailing consonants
    {0x1AB0, 0x1AFF},  // combining diacritics, extended
    {0x1DC0, 0x1DFF},  // combining diacritics, supplement
    {0x200B, 0x200F},  // zero-width space, joiners, marks of direction
    {0x202A, 0x202E},  // embeddings of direction
    {0x2060, 0x2064},  // word joiner …
    {0x20D0, 0x20FF},  // combining marks for symbols
    {0xFE00, 0xFE0F},  // variation selectors
    {0xFEFF, 0xFEFF},  // byte order mark
}};

template <std::size_t n>
bool holds(const std::array<Range, n>& ranges, char32_t c) {
  const auto range = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return range != ranges.end() && range->first <= c;
}

struct Character {
  std::size_t bytes;
  std::size_t width;
};

// The first character of `text`, which is not empty.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {1, 1};  // no UTF-8
  auto c = static_cast<char32_t>(lead & (0x7FU >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) return {1, 1};
    c = (c << 6U) | (next & 0x3FU);
  }
  return {bytes, holds(kNoWidth, c) ? 0U : holds(kWide, c) ? 2U : 1U};
}

// What `text` lacks to `width` columns.
std::string blanks(std::string_view text, std::size_t width) {
  const std::size_t taken = display_width(text);
  std::string lacking;
  if (taken < width) lacking.append(width - taken, ' ');
  return lacking;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_of(text);
    width += character.width;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::size_t character_bytes(std::string_view text) { return first_of(text).bytes; }

std::string cut_to_width(std::string_view text, std::size_t most) {
  if (display_width(text) <= most) return std::string(text);
  std::size_t width = 0;
  std::size_t end = 0;
  while (true) {
    const Character character = first_of(text.substr(end));
    if (width + character.width + 1 > most) break;  // one column for the ellipsis
    width += character.width;
    end += character.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string pad_left(std::string_view text, std::size_t width) {
  return blanks(text, width).append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  return std::string(text) + blanks(text, width);
}

}  // namespace mha
