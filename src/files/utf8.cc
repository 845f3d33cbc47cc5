#include "files/utf8.h"

#include <algorithm>

namespace mha {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80; };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if ((lead & 0xF0u) == 0xE0) {
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong form
    const std::uint8_t high = lead == 0xED ? 0x9F : 0xBF;  // no surrogate
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const std::uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length > 0) {
      // The lead's bits behind as many ones as the sequence is long, and six of each other.
      const auto lead = static_cast<std::uint8_t>(text[0]);
      auto point = static_cast<char32_t>(length == 1 ? lead : lead & (0x7Fu >> length));
      for (std::size_t i = 1; i < length; ++i) {
        point = point << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3Fu);
      }
      points += point;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return points;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&](int shift) { put(0x80u | ((code >> shift) & 0x3Fu)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0u | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    put(0xE0u | code >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0u | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace mha
