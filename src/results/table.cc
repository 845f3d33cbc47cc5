#include "results/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/label.h"

namespace mha {

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string cell(const char* format, double value) {
  return std::isfinite(value) ? formatted(format, value) : "-";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  // As %.9g, but with a point in every locale.
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, 9);
  return {text.data(), end.ptr};
}

std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    std::initializer_list<std::size_t> words) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool left = std::find(words.begin(), words.end(), i) != words.end();
      line += (i == 0 ? "" : "  ") + (left ? pad_right : pad_left)(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(const std::vector<std::string>& words, std::size_t indent,
                    std::size_t width) {
  std::string text;
  std::size_t column = 0;
  for (const std::string& word : words) {
    const std::size_t size = display_width(word);
    if (column == 0) {
      text += word;
      column = size;
    } else if (column + 1 + size > width) {
      text += "\n" + std::string(indent, ' ') + word;
      column = indent + size;
    } else {
      text += " " + word;
      column += 1 + size;
    }
  }
  return text + "\n";
}

}  // namespace mha
