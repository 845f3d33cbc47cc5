#include "heads/page.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/json.h"
#include "files/names.h"
#include "heads/cells.h"
#include "heads/colour.h"
#include "heads/page_template.h"

namespace mha {
namespace {

// JSON in an element of HTML: no "<" of a text may end the element.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : json_quoted(printable(text))) {
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  }
  return safe;
}

template <typename Items, typename Spell>
std::string list(const Items& items, const Spell& spell) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? "," : "") + spell(item);
  return text + "]";
}

std::string quoted_hex(Rgb colour) { return "\"" + hex(colour) + "\""; }

// From weight 0 to the largest.
std::vector<Rgb> scale() {
  std::vector<Rgb> colours;
  for (int i = 0; i < 256; ++i) colours.push_back(colour_of(i / 255.0));
  return colours;
}

// All but the maps, as page/ reads it.
std::string about(const MapGrid& grid, std::size_t limit, WeightBits bits, double largest,
                  double largest_error) {
  const auto number = [](std::size_t n) { return std::to_string(n); };
  return "{\"title\":" + quoted(grid.title) + ",\"stack\":" + (grid.stack ? "true" : "false") +
         ",\"layers\":" + list(grid.layers, number) +
         ",\"heads\":" + list(grid.heads, quoted) +
         ",\"queries\":" + list(grid.queries, quoted) +
         ",\"keys\":" + list(grid.keys, quoted) +
         ",\"bits\":" + std::to_string(static_cast<int>(bits)) +
         ",\"largest\":" + format_number(largest) +
         ",\"largest_error\":" + format_number(largest_error) +
         ",\"power\":" + format_number(scale_power(grid.keys.size())) +
         ",\"limit\":" + quoted(format_bytes(limit)) +
         ",\"colours\":" + list(scale(), quoted_hex) +
         ",\"no_key_colour\":" + quoted_hex(kNoKeyColour) + "}";
}

constexpr std::string_view kAboutTag = "<script type=\"application/json\" id=\"about\">";
constexpr std::string_view kEndTag = "</script>\n";

// The maps in the order of the grid as elements of the page, as many as there is room for.
struct Elements {
  std::vector<std::string> texts;
  double largest = 0.0;
  double largest_error = 0.0;
};

Elements elements_of(const MapGrid& grid, WeightBits bits, std::size_t room) {
  Elements elements;
  for (std::size_t i = 0; i < grid.layers.size() * grid.heads.size(); ++i) {
    const std::size_t layer = i / grid.heads.size();
    const std::size_t head = i % grid.heads.size();
    const PackedMap map = packed_map(grid.map(layer, head).matrix(), bits);
    std::string text = "<script type=\"application/octet-stream\" id=\"map-" +
                       std::to_string(layer) + "-" + std::to_string(head) + "\">";
    text += map.text;
    text += kEndTag;
    if (text.size() > room) break;
    room -= text.size();
    elements.texts.push_back(std::move(text));
    elements.largest = std::max(elements.largest, map.largest);
    elements.largest_error = std::max(elements.largest_error, map.largest_error);
  }
  return elements;
}

}  // namespace

PageContents write_page(WholeFile& file, const MapGrid& grid, std::size_t limit) {
  const std::size_t n_maps = grid.layers.size() * grid.heads.size();
  // Its numbers at their longest.
  constexpr double kLong = std::numeric_limits<double>::min();
  const std::string longest = about(grid, limit, WeightBits::sixteen, kLong, kLong);
  const std::size_t frame = page_before_data.size() + kAboutTag.size() + longest.size() +
                            kEndTag.size() + page_after_data.size();
  PageContents contents;
  Elements elements;
  for (const WeightBits bits : {WeightBits::sixteen, WeightBits::eight}) {
    contents.bits = bits;
    elements = elements_of(grid, bits, limit - std::min(limit, frame));
    if (elements.texts.size() == n_maps) break;
  }
  if (elements.texts.empty()) {
    throw Error("a page has no room for a map of " + std::to_string(grid.queries.size()) +
                " queries and " + std::to_string(grid.keys.size()) + " keys in its " +
                format_bytes(limit) + "; choose fewer of them");
  }
  contents.left_out = n_maps - elements.texts.size();

  file.write(page_before_data);
  file.write(kAboutTag);
  file.write(about(grid, limit, contents.bits, elements.largest, elements.largest_error));
  file.write(kEndTag);
  for (const std::string& text : elements.texts) file.write(text);
  file.write(page_after_data);
  return contents;
}

}  // namespace mha
