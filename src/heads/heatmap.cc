#include "heads/heatmap.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/label.h"
#include "files/names.h"
#include "heads/cells.h"
#include "heads/shades.h"
#include "tensor/view.h"

namespace mha {
namespace {

constexpr std::size_t kWidestLabel = 16;    // columns of a query's label
constexpr std::size_t kWidestTop = 12;      // of a label among the heaviest keys
constexpr float kLeastTop = 0.00005F;       // weight that is named among them
constexpr std::size_t kTallestLabel = 10;   // lines of a key's label
constexpr std::size_t kGap = 2;             // columns between maps
constexpr std::size_t kMostLines = 32;      // of a map with a label a line
constexpr std::size_t kShortestRuler = 24;  // columns

enum class Form {
  wide,    // a cell is two columns of a line: nearly square, with room for a label above
  narrow,  // one column
  half     // one column of half a line: square
};

struct Layout {
  Form form = Form::wide;
  CellSize cell;
  std::size_t label_width = 0;
  std::size_t panel_width = 0;  // with its frame, and wide enough for its name
  std::size_t panels = 1;       // side by side
};

std::string blanks(std::size_t count) {
  std::string text;
  text.append(count, ' ');
  return text;
}

std::size_t widest(const std::vector<std::string>& labels) {
  std::size_t width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, display_width(printable(label)));
  }
  return width;
}

std::size_t widest_name(const MapGrid& grid) {
  std::size_t width = 0;
  for (std::size_t layer = 0; layer < grid.layers.size(); ++layer) {
    for (std::size_t head = 0; head < grid.heads.size(); ++head) {
      width = std::max(width, display_width(printable(grid.name_of(layer, head))));
    }
  }
  return width;
}

// `behind`: columns of what is named behind the rows, 0 for nothing.
Layout layout_of(const MapGrid& grid, const HeatmapOptions& options, std::size_t behind) {
  const std::size_t columns = std::max(options.columns, kNarrowestHeatmap);
  const bool plain = options.colours == Colours::none;
  const std::size_t frame = plain ? 2 : 0;
  const std::size_t n_keys = grid.keys.size();
  // A layer's heads; one head of several layers flows as if they were heads.
  const std::size_t across = grid.heads.size() > 1 ? grid.heads.size() : grid.layers.size();

  Layout layout;
  layout.label_width = std::min({widest(grid.queries), kWidestLabel, columns / 4});
  const std::size_t room =
      columns - layout.label_width - 1 - (behind == 0 ? 0 : behind + kGap);
  const std::size_t name = std::min(widest_name(grid), room);
  const auto width_of = [&](std::size_t cells) { return std::max(cells + frame, name); };
  const auto fitting = [&](std::size_t width) {
    return std::min(across, (room + kGap) / (width + kGap));
  };

  layout.panel_width = width_of(2 * n_keys);
  layout.panels = fitting(layout.panel_width);
  if (layout.panels > 0 && layout.panels == fitting(width_of(n_keys))) return layout;

  // Of several maps at least two are side by side.
  const std::size_t half_of_room = (room - kGap) / 2;
  const std::size_t most = across > 1 && half_of_room >= name ? half_of_room : room;
  const std::size_t cells = std::max(most, frame + 1) - frame;
  layout.cell.keys = (n_keys + cells - 1) / cells;
  layout.cell.keys = std::max<std::size_t>(layout.cell.keys, 1);
  if (behind == 0) layout.cell.queries = layout.cell.keys;
  const bool tall = grid.queries.size() > kMostLines * layout.cell.queries;
  layout.form = tall && !plain && behind == 0 ? Form::half : Form::narrow;
  layout.panel_width = width_of((n_keys + layout.cell.keys - 1) / layout.cell.keys);
  layout.panels = std::max<std::size_t>(fitting(layout.panel_width), 1);
  return layout;
}

// Characters as they stand in a cell of a terminal: with the marks upon them.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_bytes(text));
    if (display_width(character) > 0) {
      all.emplace_back(character);
    } else if (!all.empty()) {
      all.back() += character;
    }
    text.remove_prefix(character.size());
  }
  return all;
}

// The labels from top to bottom, ending where the map begins, over cells of so many columns;
// nothing where a character is wider.
std::vector<std::string> upright(const std::vector<std::string>& keys, std::size_t columns) {
  std::vector<std::vector<std::string>> labels;
  std::size_t height = 0;
  for (const std::string& key : keys) {
    labels.push_back(characters(printable(key)));
    if (labels.back().size() > kTallestLabel) {
      labels.back().resize(kTallestLabel);
      labels.back().back() = "⋮";
    }
    height = std::max(height, labels.back().size());
    const bool fit = std::ranges::all_of(labels.back(), [columns](const std::string& one) {
      return display_width(one) <= columns;
    });
    if (!fit) return {};
  }
  std::vector<std::string> lines(height);
  for (const std::vector<std::string>& label : labels) {
    const std::size_t above = height - label.size();
    for (std::size_t i = 0; i < height; ++i) {
      lines[i] += i < above ? blanks(columns) : pad_right(label[i - above], columns);
    }
  }
  return lines;
}

// As many labels of narrow cells as there is room for, each behind a tick over its key.
std::string ruler(const std::vector<std::string>& keys, std::size_t per_cell) {
  const std::size_t cells = (keys.size() + per_cell - 1) / per_cell;
  std::string line;
  std::size_t width = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (width > 0 && cell < width + 1) continue;
    const std::string label =
        cut_to_width("╷" + printable(keys[cell * per_cell]), kWidestLabel);
    if (cell + display_width(label) > cells) continue;
    line += blanks(cell - width) + label;
    width = cell + display_width(label);
  }
  return line;
}

// "cat 0.93, it 0.041"
std::string heaviest(const float* row, const std::vector<std::string>& keys,
                     std::size_t count) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
  std::string text;
  for (auto key = order.begin(); key != middle && row[*key] >= kLeastTop; ++key) {
    text += text.empty() ? "" : ", ";
    text += cut_to_width(printable(keys[*key]), kWidestTop) + " " + weight_text(row[*key]);
  }
  return text;
}

// Text, and blanks behind it as long as more follows.
class Line {
 public:
  explicit Line(std::string text) : text_(std::move(text)), width_(display_width(text_)) {}
  // At a column that no text has reached; `width`: without what colours it.
  void add(std::size_t column, std::string_view text, std::size_t width) {
    if (width == 0) return;
    text_.append(column - width_, ' ').append(text);
    width_ = column + width;
  }
  std::string ended() const { return text_ + "\n"; }

 private:
  std::string text_;
  std::size_t width_;
};

class Heatmap {
 public:
  Heatmap(const MapGrid& grid, const HeatmapOptions& options, std::vector<std::string> behind,
          std::size_t behind_width)
      : grid_(grid),
        layout_(layout_of(grid, options, behind_width)),
        behind_(std::move(behind)),
        behind_width_(behind_width),
        cells_(cells_of(grid, layout_.cell)),
        shades_(options.colours, cells_.scale) {}

  std::string text() const {
    const std::size_t heads = grid_.heads.size();
    const std::size_t panels = cells_.panels.size();
    std::string text;
    for (std::size_t first = 0; first < panels;) {
      const std::size_t layer_end = heads > 1 ? first / heads * heads + heads : panels;
      const std::size_t count = std::min(layout_.panels, layer_end - first);
      text += band(first, count) + "\n";
      first += count;
    }
    return text + legend();
  }

 private:
  std::size_t column_of(std::size_t panel) const {
    return layout_.label_width + 1 + panel * (layout_.panel_width + kGap);
  }

  // Maps side by side: their names, the keys' labels, the rows.
  std::string band(std::size_t first, std::size_t count) const {
    const std::size_t heads = grid_.heads.size();
    Line names("");
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t panel = first + i;
      const std::string name = cut_to_width(
          printable(grid_.name_of(panel / heads, panel % heads)), layout_.panel_width);
      names.add(column_of(i), shades_.bold(name), display_width(name));
    }
    std::string text = names.ended();
    for (const std::string& labels : key_labels()) {
      Line line("");
      const std::string trimmed = labels.substr(0, labels.find_last_not_of(' ') + 1);
      for (std::size_t i = 0; i < count; ++i) {
        line.add(column_of(i) + shades_.frame_width(), trimmed, display_width(trimmed));
      }
      text += line.ended();
    }
    const std::size_t rows_a_line = layout_.form == Form::half ? 2 : 1;
    for (std::size_t row = 0; row < cells_.panels[first].rows; row += rows_a_line) {
      text += row_line(first, count, row);
    }
    return text;
  }

  std::vector<std::string> key_labels() const {
    if (layout_.form == Form::wide) return upright(grid_.keys, 2);
    const std::size_t cells = (grid_.keys.size() + layout_.cell.keys - 1) / layout_.cell.keys;
    if (cells < kShortestRuler) {
      return layout_.cell.keys == 1 ? upright(grid_.keys, 1) : std::vector<std::string>{};
    }
    return {ruler(grid_.keys, layout_.cell.keys)};
  }

  std::string row_line(std::size_t first, std::size_t count, std::size_t row) const {
    const std::size_t query = row * layout_.cell.queries;
    Line line(pad_left(cut_to_width(printable(grid_.queries[query]), layout_.label_width),
                       layout_.label_width));
    for (std::size_t i = 0; i < count; ++i) {
      const Cells& cells = cells_.panels[first + i];
      const std::size_t width = cells.cols * (layout_.form == Form::wide ? 2 : 1);
      const std::string text =
          layout_.form == Form::half
              ? shades_.halves(cells, row)
              : shades_.row(cells, row, width / std::max<std::size_t>(cells.cols, 1));
      line.add(column_of(i), text, width + 2 * shades_.frame_width());
    }
    if (!behind_.empty()) {
      const std::string named = cut_to_width(behind_[query], behind_width_);
      line.add(column_of(0) + layout_.panel_width + kGap, named, display_width(named));
    }
    return line.ended();
  }

  std::string legend() const {
    const std::string indent = blanks(column_of(0));
    std::string text;
    bool empty_rows = false;
    for (const Cells& cells : cells_.panels) {
      empty_rows =
          empty_rows || std::ranges::find(cells.weights, Cells::kNoKey) != cells.weights.end();
    }
    if (cells_.scale.largest > 0.0F) text += indent + shades_.scale() + "\n";
    if (empty_rows) text += indent + shades_.no_key() + " sees no key\n";
    const CellSize cell = layout_.cell;
    if (cell.keys > 1) {
      const std::string keys = std::to_string(cell.keys) + " keys";
      text += indent + "a cell: the largest weight of " +
              (cell.queries > 1 ? std::to_string(cell.queries) + " queries x " : "") + keys +
              "\n";
    } else if (layout_.form == Form::half) {
      text += indent + "a line: two queries, the upper one named\n";
    }
    return text;
  }

  const MapGrid& grid_;
  Layout layout_;
  std::vector<std::string> behind_;  // [n_queries] or none
  std::size_t behind_width_;
  CellGrid cells_;
  Shades shades_;
};

// One map by itself, with the heaviest keys behind its rows.
std::string top_keys(const MapGrid& grid, const HeatmapOptions& options) {
  const Tensor<float> map = grid.map(0, 0);
  std::vector<std::string> behind;
  std::size_t width = 0;
  for (std::size_t i = 0; i < grid.queries.size(); ++i) {
    behind.push_back(heaviest(map.matrix().row(i), grid.keys, options.top_keys));
    width = std::max(width, display_width(behind.back()));
  }
  const std::size_t most = std::max(options.columns, kNarrowestHeatmap) / 2 - kGap;
  return Heatmap(grid, options, std::move(behind), std::min(width, most)).text();
}

MapGrid single(const MapGrid& grid, std::size_t layer, std::size_t head) {
  MapGrid one{"",        grid.stack, {grid.layers[layer]}, {grid.heads[head]}, grid.queries,
              grid.keys, {}};
  one.map = [&grid, layer, head](std::size_t, std::size_t) { return grid.map(layer, head); };
  return one;
}

}  // namespace

std::string heatmap(const MapGrid& grid, const HeatmapOptions& options) {
  std::string text;
  if (!grid.title.empty()) {
    text += cut_to_width(printable(grid.title), std::max(options.columns, kNarrowestHeatmap)) +
            "\n\n";
  }
  if (options.top_keys == 0) return text + Heatmap(grid, options, {}, 0).text();
  for (std::size_t layer = 0; layer < grid.layers.size(); ++layer) {
    for (std::size_t head = 0; head < grid.heads.size(); ++head) {
      text += (layer + head > 0 ? "\n" : "") + top_keys(single(grid, layer, head), options);
    }
  }
  return text;
}

}  // namespace mha
