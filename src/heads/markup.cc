#include "heads/markup.h"

#include <cstddef>
#include <cstdint>

#include "files/names.h"

namespace mha {

std::string escape_markup(std::string_view text) {
  const std::string shown = printable(text);
  std::string escaped;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view three = std::string_view(shown).substr(i, 3);
    if (three == "\uFFFE" || three == "\uFFFF") {
      escaped += "\uFFFD";
      i += 2;
      continue;
    }
    switch (shown[i]) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += shown[i];
    }
  }
  return escaped;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0U;
    };
    const std::uint32_t three = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (std::size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      text += padding ? '=' : kDigits[three >> (18U - 6U * k) & 63U];
    }
  }
  return text;
}

}  // namespace mha
