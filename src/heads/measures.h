#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/view.h"

namespace mha {

// What a head's map does on the whole. Means over the rows that see a key; offsets and the
// diagonal count from the start of both axes.
struct HeadMeasures {
  std::size_t rows = 0;        // that see a key; all means are over them
  std::size_t empty_rows = 0;  // that do not
  double entropy = 0.0;        // nats, mean of -sum p ln p (Clark et al. 2019, section 3.1)
  double entropy_share = 0.0;  // of ln n_keys, the entropy of a row that weighs all alike
  double confidence = 0.0;     // mean of a row's largest weight (Voita et al. 2019, section 4)
  double self = 0.0;           // weight at the row's own place
  double previous = 0.0;       // one before it; over the rows that have one
  double next = 0.0;           // one behind it; likewise
  double first = 0.0;          // on key 0
  double delimiter = 0.0;      // on all keys that are delimiters, together
  double distance = 0.0;       // mean |i - j| of the weights
};

// What a map looks like: the largest of the masses above, where it is half of the weight
// or more; both neighbours together; broad where entropy_share is 0.9 or more; else mixed.
enum class HeadPattern { previous, next, neighbours, self, first, delimiter, broad, mixed };
const char* name_of(HeadPattern pattern) noexcept;
struct FoundPattern {
  HeadPattern pattern = HeadPattern::mixed;
  double strength = 0.0;  // that mass or share; mixed: the confidence
};
FoundPattern pattern_of(const HeadMeasures& measures) noexcept;

// Adds up rows of a head's maps, in blocks and over any number of sequences.
class MeasureHead {
 public:
  // Rows of a map [n_queries, n_keys] from `first_row` on; `delimiters` [n_keys] says which
  // keys are some, or is empty. REQUIRES: weights of a row sum up to 1, or all are 0.
  template <typename T>
  void rows(std::size_t first_row, ConstMatrixView<T> block,
            std::span<const std::uint8_t> delimiters);

  HeadMeasures measures() const;

 private:
  // Sums over rows, and over those that have a previous or a next key.
  std::size_t rows_ = 0;
  std::size_t empty_ = 0;
  std::size_t with_previous_ = 0;
  std::size_t with_next_ = 0;
  HeadMeasures sums_;
};

// The Jensen-Shannon distance of two maps' rows, mean over those that see a key in both:
// JS = KL(p | m) / 2 + KL(q | m) / 2, m = (p + q) / 2, in nats: 0 to ln 2 (Clark et al. 2019,
// section 6).
template <typename T>
double js_distance(ConstMatrixView<T> a, ConstMatrixView<T> b);

// Groups of like heads: single links of distances [n, n] of at most `most`. The number of
// each head's group, counted from 0 in the order of their first heads.
std::vector<std::size_t> groups_of_like(ConstMatrixView<double> distances, double most);

// R = A_L … A_1 of maps [layers][n, n] that are means over heads, A = (map + 1) / 2 with rows
// that sum up to 1 (Abnar & Zuidema 2020, section 3): how much of token j is in token i of
// the last layer. REQUIRES: square maps of one size.
std::vector<double> rollout(std::span<const ConstMatrixView<double>> maps);

}  // namespace mha
