#include "heads/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace mha {
namespace {

constexpr double kHalf = 0.5;
constexpr double kBroad = 0.9;

// -x ln x, 0 at 0.
double surprise(double x) { return x > 0.0 ? -x * std::log(x) : 0.0; }

double mean(double sum, std::size_t count) {
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

}  // namespace

const char* name_of(HeadPattern pattern) noexcept {
  constexpr std::array kNames = {"previous", "next",      "neighbours", "self",
                                 "first",    "delimiter", "broad",      "mixed"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

FoundPattern pattern_of(const HeadMeasures& m) noexcept {
  const std::array masses = {
      std::pair{HeadPattern::previous, m.previous}, std::pair{HeadPattern::next, m.next},
      std::pair{HeadPattern::self, m.self}, std::pair{HeadPattern::first, m.first},
      std::pair{HeadPattern::delimiter, m.delimiter}};
  const auto& [pattern, mass] = *std::ranges::max_element(
      masses, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (mass >= kHalf) return {pattern, mass};
  if (m.previous + m.next >= kHalf) return {HeadPattern::neighbours, m.previous + m.next};
  if (m.entropy_share >= kBroad) return {HeadPattern::broad, m.entropy_share};
  return {HeadPattern::mixed, m.confidence};
}

template <typename T>
void MeasureHead::rows(std::size_t first_row, ConstMatrixView<T> block,
                       std::span<const std::uint8_t> delimiters) {
  const std::size_t n_keys = block.cols;
  const double most = n_keys > 1 ? std::log(static_cast<double>(n_keys)) : 1.0;
  for (std::size_t i = 0; i < block.rows; ++i) {
    const T* row = block.row(i);
    const std::size_t at = first_row + i;
    double entropy = 0.0;
    double largest = 0.0;
    double distance = 0.0;
    double delimiter = 0.0;
    for (std::size_t j = 0; j < n_keys; ++j) {
      const auto weight = static_cast<double>(row[j]);
      entropy += surprise(weight);
      largest = std::max(largest, weight);
      distance += weight * static_cast<double>(j > at ? j - at : at - j);
      if (j < delimiters.size() && delimiters[j] != 0) delimiter += weight;
    }
    if (largest == 0.0) {
      ++empty_;
      continue;
    }
    ++rows_;
    sums_.entropy += entropy;
    sums_.entropy_share += entropy / most;
    sums_.confidence += largest;
    sums_.distance += distance;
    sums_.delimiter += delimiter;
    sums_.first += static_cast<double>(row[0]);
    if (at < n_keys) sums_.self += static_cast<double>(row[at]);
    if (at >= 1 && at - 1 < n_keys) {
      ++with_previous_;
      sums_.previous += static_cast<double>(row[at - 1]);
    }
    if (at + 1 < n_keys) {
      ++with_next_;
      sums_.next += static_cast<double>(row[at + 1]);
    }
  }
}

HeadMeasures MeasureHead::measures() const {
  HeadMeasures m;
  m.rows = rows_;
  m.empty_rows = empty_;
  m.entropy = mean(sums_.entropy, rows_);
  m.entropy_share = mean(sums_.entropy_share, rows_);
  m.confidence = mean(sums_.confidence, rows_);
  m.self = mean(sums_.self, rows_);
  m.previous = mean(sums_.previous, with_previous_);
  m.next = mean(sums_.next, with_next_);
  m.first = mean(sums_.first, rows_);
  m.delimiter = mean(sums_.delimiter, rows_);
  m.distance = mean(sums_.distance, rows_);
  return m;
}

template <typename T>
double js_distance(ConstMatrixView<T> a, ConstMatrixView<T> b) {
  double sum = 0.0;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    double js = 0.0;
    double p_sum = 0.0;
    double q_sum = 0.0;
    for (std::size_t j = 0; j < a.cols; ++j) {
      const auto p = static_cast<double>(a(i, j));
      const auto q = static_cast<double>(b(i, j));
      p_sum += p;
      q_sum += q;
      js += surprise((p + q) / 2.0) - (surprise(p) + surprise(q)) / 2.0;
    }
    if (p_sum == 0.0 || q_sum == 0.0) continue;
    ++rows;
    sum += std::max(js, 0.0);
  }
  return mean(sum, rows);
}

std::vector<std::size_t> groups_of_like(ConstMatrixView<double> distances, double most) {
  const std::size_t n = distances.rows;
  std::vector<std::size_t> group(n);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (distances(i, j) > most || group[i] == group[j]) continue;
      const auto [from, to] = std::minmax(group[i], group[j]);
      std::ranges::replace(group, std::size_t{to}, std::size_t{from});
    }
  }
  // Numbers without gaps.
  std::vector<std::size_t> first_heads = group;
  std::ranges::sort(first_heads);
  first_heads.erase(std::unique(first_heads.begin(), first_heads.end()), first_heads.end());
  for (std::size_t& g : group) {
    g = static_cast<std::size_t>(std::ranges::lower_bound(first_heads, g) -
                                 first_heads.begin());
  }
  return group;
}

std::vector<double> rollout(std::span<const ConstMatrixView<double>> maps) {
  if (maps.empty()) return {};
  const std::size_t n = maps.front().rows;
  std::vector<double> sum(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) sum[i * n + i] = 1.0;
  std::vector<double> next(n * n);
  for (const ConstMatrixView<double>& map : maps) {
    for (std::size_t i = 0; i < n; ++i) {
      const double total = 1.0 + std::accumulate(map.row(i), map.row(i) + n, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        double entry = sum[i * n + j];
        for (std::size_t k = 0; k < n; ++k) entry += map(i, k) * sum[k * n + j];
        next[i * n + j] = entry / total;
      }
    }
    std::swap(sum, next);
  }
  return sum;
}

template void MeasureHead::rows(std::size_t, ConstMatrixView<float>,
                                std::span<const std::uint8_t>);
template void MeasureHead::rows(std::size_t, ConstMatrixView<double>,
                                std::span<const std::uint8_t>);
template double js_distance(ConstMatrixView<float>, ConstMatrixView<float>);
template double js_distance(ConstMatrixView<double>, ConstMatrixView<double>);

}  // namespace mha
