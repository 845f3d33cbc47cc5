#include "heads/measures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "kernels/entropy.h"

namespace mha {
namespace {

constexpr double kHalfWay = 0.5;
constexpr double kBroad = 0.9;
constexpr double kPositional = 0.9;

double mean(double sum, std::size_t count) {
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

// What equal weights give to `some` of the keys that a row sees.
double share_of(std::size_t some, std::size_t seen) {
  return seen == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(seen);
}

}  // namespace

std::string_view name_of(HeadPattern pattern) noexcept {
  constexpr std::array<std::string_view, 9> kNames = {"previous", "next",       "neighbours",
                                                      "self",     "first",      "delimiter",
                                                      "broad",    "positional", "mixed"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

void MeasureHead::Mass::add(double weight_of_row, const BothViews& chance_of_row) {
  ++rows;
  weight += weight_of_row;
  for (std::size_t view = 0; view < chance.size(); ++view) chance[view] += chance_of_row[view];
}

double MeasureHead::Mass::mean() const { return mha::mean(weight, rows); }

double MeasureHead::Mass::above_chance(std::size_t view) const {
  const double room = static_cast<double>(rows) - chance[view];
  // Rows that see nothing but such keys say nothing.
  return room > 1e-9 ? (weight - chance[view]) / room : 0.0;
}

template <typename T>
void MeasureHead::rows(std::ptrdiff_t first_position, ConstMatrixView<T> block,
                       const MapColumns& columns) {
  const auto n_keys = static_cast<std::ptrdiff_t>(columns.n_keys);
  const auto is_delimiter = [&](std::ptrdiff_t key) {
    const auto place = static_cast<std::size_t>(key);
    return place < columns.delimiters.size() && columns.delimiters[place] != 0;
  };
  for (std::size_t i = 0; i < block.rows; ++i) {
    const T* row = block.row(i);
    const std::ptrdiff_t at = first_position + static_cast<std::ptrdiff_t>(i);
    const T* const largest = std::max_element(row, row + block.cols);
    if (block.cols == 0 || !(*largest > T{0})) {
      ++empty_rows_;
      continue;
    }
    ++rows_;
    confidence_ += static_cast<double>(*largest);
    double delimiter = 0.0;
    std::size_t delimiters = 0;
    std::size_t earlier_delimiters = 0;
    for (std::ptrdiff_t j = 0; j < n_keys; ++j) {
      const auto weight = static_cast<double>(row[j]);
      distance_ += weight * static_cast<double>(std::abs(j - at));
      later_ = later_ || (j > at && weight > 0.0);
      if (!is_delimiter(j)) continue;
      delimiter += weight;
      ++delimiters;
      if (j <= at) ++earlier_delimiters;
    }

    const auto earlier =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + 1, 0, n_keys));
    const std::array seen = {columns.n_keys + columns.extra, earlier + columns.extra};
    const double entropy = entropy_of(row, block.cols);
    entropy_ += entropy;
    for (std::size_t view = 0; view < seen.size(); ++view) {
      if (seen[view] < 2) continue;
      ++rows_with_share_[view];
      shares_[view] += entropy / std::log(static_cast<double>(seen[view]));
    }

    const auto add = [&](Mass& mass, double weight, std::size_t keys, std::size_t before) {
      mass.add(weight, {share_of(keys, seen[0]), share_of(before, seen[1])});
    };
    const auto has = [n_keys](std::ptrdiff_t key) { return key >= 0 && key < n_keys; };
    const auto weight_on = [&](std::ptrdiff_t key) {
      return has(key) ? static_cast<double>(row[key]) : 0.0;
    };
    const bool has_previous = has(at - 1);
    const bool has_next = has(at + 1);
    if (has(at)) add(self_, weight_on(at), 1, 1);
    if (has_previous) add(previous_, weight_on(at - 1), 1, 1);
    if (has_next) add(next_, weight_on(at + 1), 1, 0);
    if (has_previous || has_next) {
      add(neighbours_, weight_on(at - 1) + weight_on(at + 1),
          (has_previous ? 1 : 0) + (has_next ? 1 : 0), has_previous ? 1 : 0);
    }
    if (has(0)) add(first_, weight_on(0), 1, earlier > 0 ? 1 : 0);
    add(delimiter_, delimiter, delimiters, earlier_delimiters);
    count_offset(at, largest - row, n_keys);
  }
}

// A row that has no choice says nothing of offsets.
void MeasureHead::count_offset(std::ptrdiff_t at, std::ptrdiff_t largest,
                               std::ptrdiff_t n_keys) {
  if (n_keys < 2) return;
  ++rows_with_[-at];
  --rows_with_[n_keys - at];
  if (largest < n_keys) ++largest_at_[largest - at];
}

void MeasureHead::find_offset(HeadMeasures& m) const {
  std::size_t most = 0;
  for (const auto& [offset, rows] : largest_at_) {
    const bool nearer = rows == most && std::abs(offset) < std::abs(m.offset);
    if (rows < most || (rows == most && !nearer)) continue;
    most = rows;
    m.offset = offset;
  }
  std::ptrdiff_t with = 0;
  for (const auto& [offset, change] : rows_with_) {
    if (offset <= m.offset) with += change;
  }
  m.offset_share = mean(static_cast<double>(most), static_cast<std::size_t>(with));
  if (m.offset_share >= kPositional && 2 * most > m.rows) {
    m.pattern = HeadPattern::positional;
    m.strength = m.offset_share;
  }
}

void MeasureHead::find_pattern(HeadMeasures& m) const {
  m.pattern = HeadPattern::mixed;
  m.strength = m.confidence;
  find_offset(m);
  if (m.entropy_share >= kBroad) {
    m.pattern = HeadPattern::broad;
    m.strength = m.entropy_share;
  }
  const std::size_t view = m.causal ? 1 : 0;
  double most = 0.0;
  // Of equals the first gives its name: one key before several.
  for (const auto& [pattern, mass] :
       {std::pair{HeadPattern::previous, &previous_}, std::pair{HeadPattern::next, &next_},
        std::pair{HeadPattern::self, &self_}, std::pair{HeadPattern::first, &first_},
        std::pair{HeadPattern::delimiter, &delimiter_}}) {
    const double above = mass->above_chance(view);
    if (above < kHalfWay || above <= most) continue;
    most = above;
    m.pattern = pattern;
    m.strength = mass->mean();
  }
  if (most == 0.0 && neighbours_.above_chance(view) >= kHalfWay) {
    m.pattern = HeadPattern::neighbours;
    m.strength = m.neighbours;
  }
}

HeadMeasures MeasureHead::measures() const {
  HeadMeasures m;
  m.rows = rows_;
  m.empty_rows = empty_rows_;
  m.causal = rows_ > 0 && !later_;
  const std::size_t view = m.causal ? 1 : 0;
  m.entropy = mean(entropy_, rows_);
  m.entropy_share = mean(shares_[view], rows_with_share_[view]);
  m.confidence = mean(confidence_, rows_);
  m.self = self_.mean();
  m.previous = previous_.mean();
  m.next = next_.mean();
  m.neighbours = neighbours_.mean();
  m.first = first_.mean();
  m.delimiter = delimiter_.mean();
  m.distance = mean(distance_, rows_);
  find_pattern(m);
  return m;
}

template void MeasureHead::rows(std::ptrdiff_t, ConstMatrixView<float>, const MapColumns&);
template void MeasureHead::rows(std::ptrdiff_t, ConstMatrixView<double>, const MapColumns&);

}  // namespace mha
