#include "input/wordpiece.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "files/utf8.h"

namespace mha {
namespace {

constexpr std::size_t kLongestWord = 100;  // in characters
const std::string kUnknown = "[UNK]";

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_blank(char32_t c) {
  if (c == U' ' || c == U'\t' || c == U'\n' || c == U'\r') return true;
  const auto category = category_of(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

// What text is cleaned of: Unicode's categories C, unassigned characters too, but
// for those that are blanks.
bool is_left_out(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\r') return false;
  if (c == 0 || c == 0xFFFD) return true;
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN: return true;
    default: return false;
  }
}

// ASCII's signs, too, though Unicode calls some of them symbols.
bool is_punctuation(char32_t c) {
  if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
      (c >= 123 && c <= 126)) {
    return true;
  }
  const auto category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// The blocks of CJK ideographs, not of Hangul and Kana, whose words stand between blanks.
bool is_chinese(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                                     {0x3400, 0x4DBF},
                                                                     {0x20000, 0x2A6DF},
                                                                     {0x2A700, 0x2B73F},
                                                                     {0x2B740, 0x2B81F},
                                                                     {0x2B820, 0x2CEAF},
                                                                     {0xF900, 0xFAFF},
                                                                     {0x2F800, 0x2FA1F}}};
  return std::ranges::any_of(
      kBlocks, [c](const auto& block) { return c >= block.first && c <= block.second; });
}

std::string utf8_of(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append_utf8(text, c);
  return text;
}

// REQUIRES UTF-8 that is not empty.
void remove_last(std::string_view& text) {
  while ((static_cast<unsigned char>(text.back()) & 0xC0u) == 0x80u) text.remove_suffix(1);
  text.remove_suffix(1);
}

std::u32string in_lower_case(const std::u32string& word) {
  std::u32string lowered;
  for (const char32_t c : word) {
    // The one character whose lower case is two: a dotted I.
    if (c == 0x130) {
      lowered += {U'i', char32_t{0x307}};
    } else {
      lowered += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    }
  }
  return lowered;
}

// Decomposed (NFD), without what stands on other characters.
std::u32string without_accents(const std::u32string& word) {
  const std::string text = utf8_of(word);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  // No character becomes more than four (Unicode Standard Annex 15).
  std::vector<utf8proc_int32_t> parts(4 * word.size());
  const utf8proc_ssize_t count = utf8proc_decompose(
      bytes, size, parts.data(), static_cast<utf8proc_ssize_t>(parts.size()), options);
  std::u32string kept;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const auto c = static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
    if (category_of(c) != UTF8PROC_CATEGORY_MN) kept += c;
  }
  return kept;
}

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& vocabulary, const TextSettings& settings)
    : settings_(settings) {
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    numbers_.insert_or_assign(vocabulary[i], i);
    longest_ = std::max(longest_, vocabulary[i].size());
  }
  for (const std::string& special :
       {kUnknown, std::string("[SEP]"), std::string("[PAD]"), std::string("[CLS]"),
        std::string("[MASK]"), settings.begin, settings.end}) {
    if (!special.empty() && number_of(special) != Piece::kNone) specials_.push_back(special);
  }
}

std::vector<Piece> WordPiece::split(std::string_view text) const {
  std::vector<Piece> pieces;
  Place place;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view special = special_at(text.substr(at));
    if (special.empty()) {
      ++at;
      continue;
    }
    add_text(text.substr(begin, at - begin), place, pieces);
    pieces.push_back(piece(std::string(special)));
    pieces.back().word = place.word;
    place.within = true;
    at += special.size();
    begin = at;
  }
  add_text(text.substr(begin), place, pieces);
  return pieces;
}

Piece WordPiece::piece(const std::string& token) const { return {number_of(token), token}; }

std::size_t WordPiece::number_of(std::string_view piece) const {
  const auto found = numbers_.find(piece);
  return found == numbers_.end() ? Piece::kNone : found->second;
}

// The longest one that the text begins with, or "".
std::string_view WordPiece::special_at(std::string_view text) const {
  std::string_view found;
  for (const std::string& special : specials_) {
    if (text.starts_with(special) && special.size() > found.size()) found = special;
  }
  return found;
}

// Cuts text without special tokens into words.
void WordPiece::add_text(std::string_view text, Place& place,
                         std::vector<Piece>& pieces) const {
  std::u32string word;
  const auto end_word = [&] {
    if (!word.empty()) add_word(word, place.word, pieces);
    word.clear();
  };
  for (const char32_t c : code_points(text)) {
    if (is_left_out(c)) continue;
    if (is_blank(c)) {
      end_word();
      place.word += place.within ? 1 : 0;
      place.within = false;
      continue;
    }
    const bool alone = settings_.split_chinese && is_chinese(c);
    if (alone) end_word();
    word += c;
    place.within = true;
    if (alone) end_word();
  }
  end_word();
}

// Cuts a word at its punctuation, which accents may have hidden.
void WordPiece::add_word(const std::u32string& word, std::size_t place,
                         std::vector<Piece>& pieces) const {
  std::u32string folded = settings_.lower_case ? in_lower_case(word) : word;
  if (settings_.strip_accents) folded = without_accents(folded);
  std::u32string_view rest = folded;
  while (!rest.empty()) {
    const auto end = std::ranges::find_if(rest, is_punctuation);
    const auto count = std::max<std::size_t>(static_cast<std::size_t>(end - rest.begin()),
                                             is_punctuation(rest.front()) ? 1 : 0);
    add_pieces(rest.substr(0, count), place, pieces);
    rest.remove_prefix(count);
  }
}

// Cuts what is left into the longest pieces that are known.
void WordPiece::add_pieces(std::u32string_view word, std::size_t place,
                           std::vector<Piece>& pieces) const {
  const std::size_t before = pieces.size();
  std::size_t first = word.size() <= kLongestWord ? 0 : word.size();
  bool known = word.size() <= kLongestWord;
  while (first < word.size() && known) {
    const std::string prefix = first > 0 ? "##" : "";
    const std::string candidate = prefix + utf8_of(word.substr(first));
    std::string_view part = candidate;
    std::size_t end = word.size();
    Piece found;
    for (; end > first; --end) {
      if (part.size() <= longest_) found.number = number_of(part);
      if (found.number != Piece::kNone) break;
      remove_last(part);
    }
    known = found.number != Piece::kNone;
    if (known) pieces.push_back({found.number, std::string(part), place});
    first = end;
  }
  if (known) return;
  pieces.resize(before);
  Piece unknown = piece(kUnknown);
  unknown.word = place;
  unknown.unknown = utf8_of(word);
  if (unknown.number == Piece::kNone) unknown.text = unknown.unknown;
  pieces.push_back(std::move(unknown));
}

}  // namespace mha
