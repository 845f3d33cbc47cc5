#include "heads/markup.h"

#include <cstddef>

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

}  // namespace mha
