#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "tensor/view.h"

namespace mha {

// What a map looks like, by the weight that lies on …
enum class HeadPattern {
  previous,    // the key before the query's own place
  next,        // the key behind it
  neighbours,  // both together
  self,        // its own place
  first,       // key 0
  delimiter,   // keys that are delimiters, together
  broad,       // all keys nearly alike: entropy_share is 0.9 or more
  positional,  // the largest weight is at one offset in 90 % of the rows that have it and in
               // more than half of all rows (Voita et al. 2019, section 5.2)
  mixed        // none of these
};
std::string_view name_of(HeadPattern pattern) noexcept;

// What a head's maps do on the whole: means over the rows that see a key. Previous, next and
// neighbours are means over the rows that have such a key (Clark et al. 2019, section 3.1).
struct HeadMeasures {
  std::size_t rows = 0;        // that see a key
  std::size_t empty_rows = 0;  // that see none
  double entropy = 0.0;        // nats: -sum p ln p (Clark et al. 2019, section 3.3)
  // Of the entropy that equal weights on all keys that the row may see would have: all of
  // them, or where no row has weight behind its own place (causal) those up to it. Over the
  // rows that may see two or more.
  double entropy_share = 0.0;
  double confidence = 0.0;  // a row's largest weight (Voita et al. 2019, section 5.1; there
                            // without the column of the sentence's end)
  double self = 0.0;
  double previous = 0.0;
  double next = 0.0;
  double neighbours = 0.0;
  double first = 0.0;
  double delimiter = 0.0;
  double distance = 0.0;  // sum of p |i - j|
  bool causal = false;    // no row has weight behind its own place
  // Where the largest weight is most often, from the row's own place, and in which share of
  // the rows that have such a key.
  std::ptrdiff_t offset = 0;
  double offset_share = 0.0;
  // The largest of the masses above that are at least half way from what equal weights on
  // the visible keys would give to all of the weight: a short or a causal row has half of
  // its weight on some key whatever it does. Else broad, positional or mixed, in this order.
  HeadPattern pattern = HeadPattern::mixed;
  double strength = 0.0;  // that mass; entropy_share; offset_share; mixed: confidence
};

// What the columns of a map are: keys, perhaps some of padding, perhaps some at the end that
// are no keys of the input (bias_k, the zero key) and have no position.
struct MapColumns {
  std::size_t n_keys = 0;                      // without padding
  std::size_t extra = 0;                       // at the end
  std::span<const std::uint8_t> delimiters{};  // 1: this key is one; may be shorter
};

// Adds up rows of a head's maps, in blocks and over any number of sequences.
class MeasureHead {
 public:
  // Rows of a map, the first of a query at `first_position` among the keys (below 0: before
  // them).
  // REQUIRES: weights of a row sum up to 1, or all are 0; those of padding are 0.
  template <typename T>
  void rows(std::ptrdiff_t first_position, ConstMatrixView<T> block,
            const MapColumns& columns);

  HeadMeasures measures() const;

 private:
  // Sums over rows that see all keys, or those up to their own place: which of them the rows
  // are is known when all have come.
  using BothViews = std::array<double, 2>;
  using Seen = std::array<std::size_t, 2>;  // keys
  struct Mass {
    double weight = 0.0;
    BothViews chance{};  // of equal weights
    std::size_t rows = 0;
    void add(double weight_of_row, const BothViews& chance_of_row);
    double mean() const;
    double above_chance(std::size_t view) const;
  };

  void add_entropy(double entropy, const Seen& seen);
  // Of one row: what goes over all of its keys, and the weights around its own place.
  template <typename T>
  void add_keys(std::ptrdiff_t at, const T* row, const MapColumns& columns, const Seen& seen);
  template <typename T>
  void add_places(std::ptrdiff_t at, const T* row, std::ptrdiff_t n_keys, const Seen& seen);
  void count_offset(std::ptrdiff_t at, std::ptrdiff_t largest, std::ptrdiff_t n_keys);
  void find_offset(HeadMeasures& m) const;
  void find_pattern(HeadMeasures& m) const;

  std::size_t rows_ = 0;
  std::size_t empty_rows_ = 0;
  bool later_ = false;  // some row has weight behind its own place
  double entropy_ = 0.0;
  BothViews shares_{};
  std::array<std::size_t, 2> rows_with_share_{};
  double confidence_ = 0.0;
  double distance_ = 0.0;
  Mass self_, previous_, next_, neighbours_, first_, delimiter_;
  std::map<std::ptrdiff_t, std::size_t> largest_at_;  // offset -> rows
  // Offset -> rows that have it, less those that have the one before.
  std::map<std::ptrdiff_t, std::ptrdiff_t> rows_with_;
};

}  // namespace mha
