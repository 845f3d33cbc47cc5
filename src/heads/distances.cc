#include "heads/distances.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/entropy.h"

namespace mha {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Of the first of each head's pairs with those before it.
std::size_t first_pair(std::size_t head) { return head * (head - 1) / 2; }

}  // namespace

HeadDistances::HeadDistances(std::size_t n_heads) : n_heads_(n_heads) {
  // Pairs, and the matrix of distances().
  require_memory(checked_multiply(2 * n_heads, n_heads * sizeof(double))
                     .value_or(std::numeric_limits<std::size_t>::max()),
                 "a distance of each two of " + std::to_string(n_heads) + " heads");
  sums_.resize(first_pair(n_heads));
  rows_.resize(first_pair(n_heads));
}

template <typename T>
void HeadDistances::rows(std::span<const ConstMatrixView<T>> heads) {
  assert(heads.size() == n_heads_);
  const std::size_t rows = heads.front().rows;
  const std::size_t n_keys = heads.front().cols;
  // Of each head's rows; NaN where one sees no key.
  std::vector<double> entropies(n_heads_ * rows);
  const std::size_t work = rows * n_keys * kFlopsOfReading;
  parallel_ranges(n_heads_, work, [&](std::size_t first, std::size_t end) {
    for (std::size_t head = first; head < end; ++head) {
      for (std::size_t i = 0; i < rows; ++i) {
        const T* row = heads[head].row(i);
        const bool empty = std::all_of(row, row + n_keys, [](T p) { return p == T{0}; });
        entropies[head * rows + i] = empty ? kNone : entropy_of(row, n_keys);
      }
    }
  });
  parallel_ranges(sums_.size(), work, [&](std::size_t first, std::size_t end) {
    // The head whose pairs with those before it hold the first one.
    std::size_t a = 1;
    while (first_pair(a + 1) <= first) ++a;
    for (std::size_t pair = first; pair < end; ++pair) {
      if (pair == first_pair(a + 1)) ++a;
      const std::size_t b = pair - first_pair(a);
      for (std::size_t i = 0; i < rows; ++i) {
        const double mean = (entropies[a * rows + i] + entropies[b * rows + i]) / 2.0;
        if (std::isnan(mean)) continue;
        const double js = entropy_of_mean(heads[a].row(i), heads[b].row(i), n_keys) - mean;
        sums_[pair] += std::max(js, 0.0);
        ++rows_[pair];
      }
    }
  });
}

Tensor<double> HeadDistances::distances() const {
  Tensor<double> result = Tensor<double>::zeros({n_heads_, n_heads_});
  const MatrixView<double> matrix = result.matrix();
  std::size_t pair = 0;
  for (std::size_t a = 1; a < n_heads_; ++a) {
    for (std::size_t b = 0; b < a; ++b, ++pair) {
      const auto rows = static_cast<double>(rows_[pair]);
      matrix(a, b) = matrix(b, a) = rows == 0.0 ? kNone : sums_[pair] / rows;
    }
  }
  return result;
}

std::size_t nearest_head(ConstMatrixView<double> distances, std::size_t head) {
  std::size_t nearest = head;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < distances.cols; ++other) {
    if (other == head || !(distances(head, other) < least)) continue;
    least = distances(head, other);
    nearest = other;
  }
  return nearest;
}

std::vector<std::size_t> groups_of_like(ConstMatrixView<double> distances, double most) {
  const std::size_t n = distances.rows;
  // Between groups, each at its first head: the largest distance of two of their heads.
  Tensor<double> furthest({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(distances.row(i), n, furthest.matrix().row(i));
  }
  const MatrixView<double> between = furthest.matrix();
  std::vector<std::size_t> first_of(n);
  for (std::size_t head = 0; head < n; ++head) first_of[head] = head;
  const auto is_first = [&](std::size_t head) { return first_of[head] == head; };
  for (;;) {
    double least = most;
    std::size_t from = n;
    std::size_t into = n;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; is_first(i) && j < i; ++j) {
        if (!is_first(j) || !(between(i, j) <= least)) continue;
        if (from < n && between(i, j) == least) continue;
        least = between(i, j);
        from = i;
        into = j;
      }
    }
    if (from == n) break;
    std::ranges::replace(first_of, from, into);
    for (std::size_t other = 0; other < n; ++other) {
      // A distance that is none keeps the groups apart.
      const double both = std::max(between(other, from), between(other, into));
      const bool known =
          !std::isnan(between(other, from)) && !std::isnan(between(other, into));
      between(other, into) = between(into, other) = known ? both : kNone;
    }
  }

  std::vector<std::size_t> numbers(n);
  std::size_t groups = 0;
  for (std::size_t head = 0; head < n; ++head) {
    numbers[head] = is_first(head) ? groups++ : numbers[first_of[head]];
  }
  return numbers;
}

template void HeadDistances::rows(std::span<const ConstMatrixView<float>>);
template void HeadDistances::rows(std::span<const ConstMatrixView<double>>);

}  // namespace mha
