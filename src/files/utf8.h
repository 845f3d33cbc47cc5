#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mha {

// Bytes of the well-formed UTF-8 sequence at the front of `text`, 0 for none
// (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text);

// Whether all of it is well-formed.
bool is_utf8(std::string_view text);

// Its code points; bytes that are no UTF-8 are left out.
std::u32string code_points(std::string_view text);

// REQUIRES a code point, no surrogate.
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace mha
