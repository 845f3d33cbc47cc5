#include "heads/measures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "kernels/entropy.h"

namespace mha {
namespace {

constexpr double kHalfWay = 0.5;
constexpr double kBroad = 0.9;
constexpr double kPositional = 0.9;

// NaN of nothing: a head without rows is no sharp one.
double mean(double sum, std::size_t count) { return sum / static_cast<double>(count); }

// What equal weights give to `some` of the keys that a row sees.
std::array<double, 2> chance_of(const std::array<std::size_t, 2>& some,
                                const std::array<std::size_t, 2>& seen) {
  const auto share = [](std::size_t of, std::size_t all) {
    return all == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(all);
  };
  return {share(some[0], seen[0]), share(some[1], seen[1])};
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
    const auto earlier =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + 1, 0, n_keys));
    const Seen seen = {columns.n_keys + columns.extra, earlier + columns.extra};
    add_entropy(entropy_of(row, block.cols), seen);
    add_keys(at, row, columns, seen);
    add_places(at, row, n_keys, seen);
    count_offset(at, largest - row, n_keys);
  }
}

void MeasureHead::add_entropy(double entropy, const Seen& seen) {
  entropy_ += entropy;
  for (std::size_t view = 0; view < seen.size(); ++view) {
    if (seen[view] < 2) continue;
    ++rows_with_share_[view];
    shares_[view] += entropy / std::log(static_cast<double>(seen[view]));
  }
}

template <typename T>
void MeasureHead::add_keys(std::ptrdiff_t at, const T* row, const MapColumns& columns,
                           const Seen& seen) {
  double weight_on_delimiters = 0.0;
  Seen delimiters{};
  for (std::size_t key = 0; key < columns.n_keys; ++key) {
    const auto j = static_cast<std::ptrdiff_t>(key);
    const auto weight = static_cast<double>(row[key]);
    distance_ += weight * static_cast<double>(std::abs(j - at));
    later_ = later_ || (j > at && weight > 0.0);
    if (key >= columns.delimiters.size() || columns.delimiters[key] == 0) continue;
    weight_on_delimiters += weight;
    ++delimiters[0];
    if (j <= at) ++delimiters[1];
  }
  delimiter_.add(weight_on_delimiters, chance_of(delimiters, seen));
}

template <typename T>
void MeasureHead::add_places(std::ptrdiff_t at, const T* row, std::ptrdiff_t n_keys,
                             const Seen& seen) {
  const auto has = [n_keys](std::ptrdiff_t key) { return key >= 0 && key < n_keys; };
  // On some of `keys`; those that there are not have none.
  const auto add = [&](Mass& mass, std::initializer_list<std::ptrdiff_t> keys) {
    double weight = 0.0;
    Seen some{};
    for (const std::ptrdiff_t key : keys) {
      if (!has(key)) continue;
      weight += static_cast<double>(row[key]);
      ++some[0];
      if (key <= at) ++some[1];
    }
    if (some[0] > 0) mass.add(weight, chance_of(some, seen));
  };
  add(self_, {at});
  add(previous_, {at - 1});
  add(next_, {at + 1});
  add(neighbours_, {at - 1, at + 1});
  add(first_, {0});
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
