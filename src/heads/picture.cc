#include "heads/picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/label.h"
#include "files/names.h"
#include "heads/glyphs.h"

namespace mha {
namespace {

using Text = Picture::Text;
using Anchor = Picture::Anchor;

constexpr int kMargin = 36;
constexpr int kGap = 40;    // between panels
constexpr int kSpace = 12;  // between a panel and its texts
constexpr int kColumn = static_cast<int>(kGlyphAdvance * kLabelUnit);  // of a label
constexpr int kLetter = static_cast<int>(kGlyphHeight * kLabelUnit);   // its capitals' height
constexpr int kLine = 2 * kLetter;
constexpr int kLabelled = 26;  // a cell that has room for a label of its own
constexpr int kLargestCell = 64;
constexpr int kScaleWidth = 440;
constexpr int kNarrowest = 54 * kColumn;  // without margins: notes have room
constexpr std::size_t kWidestLabel = 16;  // columns
constexpr std::size_t kHeadsALine = 4;    // of one layer: beyond, lines are full

int as_int(std::size_t number) { return static_cast<int>(number); }

std::string label_text(const std::string& label) {
  return cut_to_width(printable(label), kWidestLabel);
}

// Of every `step`-th label.
int widest(const std::vector<std::string>& labels, std::size_t step = 1) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < labels.size(); i += step) {
    columns = std::max(columns, display_width(label_text(labels[i])));
  }
  return as_int(columns) * kColumn;
}

// What a panel of n x n tokens would like to measure, in pixels.
int wanted_cell(std::size_t n, bool alone) {
  const int wanted = (alone ? 1400 : 600) / std::max(as_int(n), 1);
  const std::size_t labelled = alone ? 54 : 32;
  return std::clamp(wanted, n <= labelled ? kLabelled : 0, kLargestCell);
}

class Layout {
 public:
  explicit Layout(const MapGrid& grid) : grid_(grid) {
    const std::size_t layers = grid.layers.size();
    const std::size_t heads = grid.heads.size();
    panels_ = layers * heads;
    across_ = layers > 1 && heads > 1 ? heads : std::min(panels_, kHeadsALine);
    lines_ = across_ == 0 ? 0 : (panels_ + across_ - 1) / across_;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (std::size_t head = 0; head < heads; ++head) {
        names_.push_back(printable(grid.name_of(layer, head)));
        name_width_ = std::max(name_width_, as_int(display_width(names_.back())) * kColumn);
      }
    }
    // Room for all labels; then for those that are drawn.
    reserve(1, 1);
    top_ = kMargin + (grid.title.empty() ? 0 : 2 * kLine);
    choose_cell();
    reserve(label_step() * size_.queries, label_step() * size_.keys);
  }

  Picture picture() {
    CellGrid cells = cells_of(grid_, size_);
    Picture picture;
    picture.scale = cells.scale;
    const int widest_line = as_int(across_) * (panel_width() + kGap) - kGap;
    picture.width = left_ + std::max(widest_line, kNarrowest) + kMargin;
    if (!grid_.title.empty()) {
      Text title{printable(grid_.title), kMargin, kMargin + kLine};
      const float column = kGlyphAdvance * kTitleUnit;
      const auto room = static_cast<float>(picture.width - 2 * kMargin) / column;
      title.text = cut_to_width(title.text, static_cast<std::size_t>(room));
      title.size = Picture::Size::title;
      picture.texts.push_back(std::move(title));
    }
    for (std::size_t panel = 0; panel < panels_; ++panel) {
      const int x = left_ + as_int(panel % across_) * (panel_width() + kGap);
      const int y = top_ + as_int(panel / across_) * line_height() + kLine;
      add_texts(picture, panel, x, y);
      picture.panels.push_back({x, y, cell_, std::move(cells.panels[panel])});
    }
    add_legend(picture, top_ + as_int(lines_) * line_height());
    return picture;
  }

 private:
  std::size_t cells_across() const {
    return (grid_.keys.size() + size_.keys - 1) / size_.keys;
  }
  std::size_t cells_down() const {
    return (grid_.queries.size() + size_.queries - 1) / size_.queries;
  }
  int panel_width() const { return std::max(as_int(cells_across()) * cell_, name_width_); }
  int line_height() const { return kLine + as_int(cells_down()) * cell_ + below(); }
  // What stands below a panel: keys' labels, the axis' name.
  int below() const { return kSpace + keys_height_ + kLine + kGap; }

  // Room for the labels of every so many queries and keys.
  void reserve(std::size_t queries, std::size_t keys) {
    left_ = kMargin + kLine + widest(grid_.queries, queries) + kSpace;
    keys_height_ = widest(grid_.keys, keys);
  }

  void choose_cell() {
    const std::size_t n = std::max(grid_.queries.size(), grid_.keys.size());
    cell_ = wanted_cell(n, panels_ == 1);
    if (panels_ == 0) return;
    const int legend = 5 * kLine + kMargin;
    const int room_across = (kMostPixels - left_ - kMargin) / as_int(across_) - kGap;
    const int room_down = (kMostPixels - top_ - legend) / as_int(lines_) - kLine - below();
    constexpr int kSmallestPanel = 32;
    if (std::min(room_across - name_width_, room_down - kSmallestPanel) < 0) {
      throw Error(std::to_string(panels_) + " maps do not fit in a picture of " +
                  std::to_string(kMostPixels) + " pixels; choose layers or heads");
    }
    const auto fit = [](int room, std::size_t cells) {
      return room / std::max(as_int(cells), 1);
    };
    cell_ = std::min(
        {cell_, fit(room_across, grid_.keys.size()), fit(room_down, grid_.queries.size())});
    if (cell_ > 0) return;
    cell_ = 1;
    const int most = panels_ == 1 ? 1400 : 600;
    const auto cells = static_cast<std::size_t>(std::min({most, room_across, room_down}));
    size_.queries = size_.keys = (n + cells - 1) / cells;
  }

  // Every how many cells a label is drawn: each, or with air between them.
  std::size_t label_step() const {
    return cell_ >= kLabelled ? 1 : static_cast<std::size_t>(2 * kLabelled / cell_);
  }

  void add_texts(Picture& picture, std::size_t panel, int x, int y) const {
    const int height = as_int(cells_down()) * cell_;
    const int width = as_int(cells_across()) * cell_;
    picture.texts.push_back({names_[panel], x, y - kSpace});
    const bool leftmost = panel % across_ == 0;
    for (std::size_t i = 0; leftmost && i < cells_down(); i += label_step()) {
      picture.texts.push_back({label_text(grid_.queries[i * size_.queries]), x - kSpace,
                               y + as_int(i) * cell_ + (cell_ + kLetter) / 2, Anchor::end});
    }
    for (std::size_t j = 0; j < cells_across(); j += label_step()) {
      picture.texts.push_back({label_text(grid_.keys[j * size_.keys]),
                               x + as_int(j) * cell_ + (cell_ + kLetter) / 2,
                               y + height + kSpace, Anchor::end, true});
    }
    const int key_y = y + height + kSpace + keys_height_ + kLine;
    picture.texts.push_back({"key", x + width / 2, key_y, Anchor::middle, false,
                             Picture::Size::label, Picture::Ink::faint});
    if (!leftmost) return;
    picture.texts.push_back({"query", kMargin + kLetter, y + height / 2, Anchor::middle, true,
                             Picture::Size::label, Picture::Ink::faint});
  }

  void add_legend(Picture& picture, int y) const {
    const int x = left_;
    if (picture.scale.largest > 0.0F) {
      picture.bar = {x + 2 * kColumn, y, kScaleWidth, kLine - 8};
      const int baseline = y + (kLine - 8 + kLetter) / 2;
      picture.texts.push_back({"0", x, baseline});
      picture.texts.push_back(
          {picture.scale.end_text(), x + 3 * kColumn + kScaleWidth, baseline});
      y += kLine;
    }
    const auto note = [&](const std::string& text) {
      y += kLine;
      picture.texts.push_back(
          {text, x, y, Anchor::start, false, Picture::Size::label, Picture::Ink::faint});
    };
    if (size_.keys > 1) {
      const std::string size = std::to_string(size_.keys);
      note("a cell: the largest weight of " + size + " queries × " + size + " keys");
    }
    if (std::ranges::any_of(picture.panels, [](const Picture::Panel& panel) {
          return std::ranges::find(panel.cells.weights, Cells::kNoKey) !=
                 panel.cells.weights.end();
        })) {
      note("grey: a query that sees no key");
    }
    picture.height = y + kMargin;
  }

  const MapGrid& grid_;
  std::size_t panels_ = 0;
  std::size_t across_ = 0;  // panels of a line
  std::size_t lines_ = 0;
  std::vector<std::string> names_;  // [panels]
  int name_width_ = 0;
  int keys_height_ = 0;
  int left_ = 0;  // where the first panel begins
  int top_ = 0;
  int cell_ = 1;
  CellSize size_;
};

}  // namespace

std::size_t Picture::step_of(float weight) const {
  if (weight == Cells::kNoKey) return kNoKeyStep;
  return static_cast<std::size_t>(
      std::lround(scale.share_of(weight) * static_cast<float>(kSteps - 1)));
}

Rgb Picture::colour_of_step(std::size_t step) {
  if (step == kNoKeyStep) return kNoKeyColour;
  return colour_of(static_cast<double>(step) / (kSteps - 1));
}

Picture picture_of(const MapGrid& grid) { return Layout(grid).picture(); }

}  // namespace mha
