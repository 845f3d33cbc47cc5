#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mha {

// Columns that UTF-8 text takes on a terminal: two for East Asian wide
// characters and emoji, none for combining marks, whatever the locale. Bytes
// that are no UTF-8 count one each.
std::size_t display_width(std::string_view text);

// Bytes of the first character of a text that is not empty; 1 for one that is no UTF-8.
std::size_t character_bytes(std::string_view text);

// The text, or where it is wider than `most` (> 0) its beginning and "…".
std::string cut_to_width(std::string_view text, std::size_t most);

// The text with blanks before or after it up to `width` columns.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace mha
