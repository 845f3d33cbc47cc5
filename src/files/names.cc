#include "files/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "files/utf8.h"

namespace mha {
namespace {

// Optimal string alignment distance, or anything above `limit` once it must
// exceed that: names come from files that nobody vouches for.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

// C0, DEL, C1 (U+0080 to U+009F) and the line and paragraph separators.
bool is_control(std::string_view sequence) {
  const auto lead = static_cast<std::uint8_t>(sequence[0]);
  if (sequence.size() == 4) return false;
  if (sequence.size() == 1) return lead < 0x20 || lead == 0x7F;
  if (sequence.size() == 2)
    return lead == 0xC2 && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
  // Ends of lines, and what turns the direction of all that follows.
  return sequence == "\u2028" || sequence == "\u2029" ||
         (sequence >= "\u202A" && sequence <= "\u202E") ||
         (sequence >= "\u2066" && sequence <= "\u2069");
}

}  // namespace

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string suffix_of(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  std::string suffix = dot == file.npos ? "" : file.substr(dot + 1);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), lower);
  return suffix;
}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  std::string best;
  std::size_t limit = name.size() / 3;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate, limit);
    if (distance > limit) continue;
    best = candidate;
    if (distance == 0) break;
    limit = distance - 1;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : ", did you mean " + printable(near) + "?";
}

bool is_one_of(std::string_view name, std::span<const std::string> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_of(std::span<const std::string> names, std::size_t most) {
  if (names.empty()) return "nothing";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    if (i > 0) text += ", ";
    text += printable(names[i]);
  }
  if (names.size() > most) text += ", … and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && !is_control(sequence)) {
      shown += sequence;
    } else {
      for (const char c : sequence) {
        std::array<char, 5> escape{};
        std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<std::uint8_t>(c));
        shown += escape.data();
      }
    }
    text.remove_prefix(sequence.size());
  }
  return shown;
}

std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string source_name(const std::string& path) {
  return path == "-" ? "standard input" : printable(path);
}

}  // namespace mha
