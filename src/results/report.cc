#include "results/report.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/label.h"
#include "base/memory.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::size_t kKeptAtEnds = 3;  // of an axis that is elided
constexpr std::size_t kWidestLabel = 12;
constexpr std::string_view kElided = "…";
constexpr std::string_view kGap = "  ";

// Positions of an axis that are shown.
std::vector<std::size_t> kept(std::size_t length, std::size_t limit) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < length; ++i) {
    if (length > limit && i == kKeptAtEnds) i = std::max(i, length - kKeptAtEnds);
    positions.push_back(i);
  }
  return positions;
}

// Whether something is left out before the kept position `i`.
bool gap_before(const std::vector<std::size_t>& positions, std::size_t i) {
  return i > 0 && positions[i] != positions[i - 1] + 1;
}

std::string label_of(const std::vector<std::string>& labels, std::size_t position) {
  if (position >= labels.size()) return std::to_string(position);
  return cut_to_width(printable(labels[position]), kWidestLabel);
}

// Four decimals show a matrix whose largest number has one to five digits
// before the point, or a significant one well before the last decimal.
template <typename T>
std::chars_format notation_for(ConstMatrixView<T> matrix) {
  T largest{0};
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.cols; ++j) {
      const T size = std::abs(matrix(i, j));
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
  }
  const bool fits = largest == T{0} || (largest >= T(0.01) && largest < T(1e5));
  return fits ? std::chars_format::fixed : std::chars_format::scientific;
}

template <typename T>
std::string number_text(T value, std::chars_format notation) {
  if (std::isnan(value)) return "nan";  // of either sign
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, notation, 4);
  return {text.data(), end.ptr};
}

// A label and the cells of the kept columns, each at the right of its width.
std::string line_of(const std::string& label, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths,
                    const std::vector<std::size_t>& kept_cols) {
  std::string line = label;
  for (std::size_t j = 0; j < cells.size(); ++j) {
    if (gap_before(kept_cols, j)) line.append(kGap).append(kElided);
    line.append(kGap).append(pad_left(cells[j], widths[j]));
  }
  return line + "\n";
}

}  // namespace

template <typename T>
Excerpt<T>::Excerpt(Shape shape, std::size_t heads, ExcerptLimits limits)
    : shape_(std::move(shape)), heads_(heads) {
  assert(shape_.size() >= 2);
  const std::size_t rank = shape_.size();
  kept_rows_ = kept(shape_[rank - 2], limits.rows);
  kept_cols_ = kept(shape_[rank - 1], limits.cols);
  const std::size_t matrices = element_count(Shape(shape_.begin(), shape_.end() - 2));
  const Shape kept_shape{matrices, kept_rows_.size(), kept_cols_.size()};
  const auto bytes = checked_multiply(element_count(kept_shape), sizeof(T));
  require_memory(bytes.value_or(std::numeric_limits<std::size_t>::max()),
                 "a report of " + to_string(kept_shape));
  values_ = Tensor<T>(kept_shape);
}

template <typename T>
void Excerpt<T>::rows(const Place& place, ConstMatrixView<T> block) {
  // Asserts that the block is where it may be.
  (void)offset_of(place, shape_, heads_, block.rows, block.cols);
  const MatrixView<T> matrix = values_.matrix(place.item * heads_ + place.head);
  const auto first = std::ranges::lower_bound(kept_rows_, place.first_row);
  for (auto row = first; row != kept_rows_.end() && *row < place.first_row + block.rows;
       ++row) {
    const T* from = block.row(*row - place.first_row);
    T* to = matrix.row(static_cast<std::size_t>(row - kept_rows_.begin()));
    for (const std::size_t col : kept_cols_) *to++ = from[col];
  }
}

template <typename T>
std::string Excerpt<T>::matrix_text(std::size_t index,
                                    const std::vector<std::string>& row_labels,
                                    const std::vector<std::string>& col_labels) const {
  if (kept_rows_.empty()) return "(no rows)\n";
  if (kept_cols_.empty()) return "(no columns)\n";
  const ConstMatrixView<T> matrix = values_.matrix(index);
  const std::chars_format notation = notation_for(matrix);

  std::size_t number_width = 0;
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.cols; ++j) {
      number_width = std::max(number_width, number_text(matrix(i, j), notation).size());
    }
  }
  // Words begin at one place, positions end at one.
  const auto pad = row_labels.empty() ? pad_left : pad_right;
  std::size_t label_width = 0;
  for (const std::size_t row : kept_rows_) {
    label_width = std::max(label_width, display_width(label_of(row_labels, row)));
  }

  std::vector<std::size_t> widths;
  std::vector<std::string> cells;
  for (const std::size_t col : kept_cols_) {
    cells.push_back(label_of(col_labels, col));
    widths.push_back(std::max(number_width, display_width(cells.back())));
  }
  std::string text = line_of(std::string(label_width, ' '), cells, widths, kept_cols_);

  for (std::size_t i = 0; i < kept_rows_.size(); ++i) {
    if (gap_before(kept_rows_, i)) {
      cells.assign(cells.size(), std::string(kElided));
      text += line_of(pad(kElided, label_width), cells, widths, kept_cols_);
    }
    for (std::size_t j = 0; j < cells.size(); ++j) {
      cells[j] = number_text(matrix(i, j), notation);
    }
    text += line_of(pad(label_of(row_labels, kept_rows_[i]), label_width), cells, widths,
                    kept_cols_);
  }
  return text;
}

template class Excerpt<float>;
template class Excerpt<double>;

}  // namespace mha
