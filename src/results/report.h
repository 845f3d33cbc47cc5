#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "results/sink.h"
#include "tensor/tensor.h"

namespace mha {

// The longest axes that a report shows whole.
struct ExcerptLimits {
  std::size_t rows = 8;
  std::size_t cols = 16;
};

// Whatever the axes are: --full.
inline constexpr ExcerptLimits kNoLimits{std::numeric_limits<std::size_t>::max(),
                                         std::numeric_limits<std::size_t>::max()};

// Keeps the rows and columns of a tensor [batch, heads, rows, cols] that a
// report shows: all of an axis that its limit allows, else the first and last
// three of it, as numpy elides.
template <typename T>
class Excerpt final : public Sink<T> {
 public:
  // `shape`: rank >= 2, `heads` matrices to a batch item. Throws
  // Error(Fault::system) where what is kept does not fit in memory.
  Excerpt(Shape shape, std::size_t heads, ExcerptLimits limits);
  void rows(const Place& place, ConstMatrixView<T> block) override;
  bool any_order() const override { return true; }

  // Aligned text of matrix `index` (batch-major): a line of column labels,
  // then a line a row, each ended; "…" where something was left out. A label
  // that is not there is its position. Every number has four decimals; values
  // too large or too small for that are written with exponents, a matrix at a
  // time. REQUIRES: all of the matrix came by.
  std::string matrix_text(std::size_t index, const std::vector<std::string>& row_labels,
                          const std::vector<std::string>& col_labels) const;

 private:
  Shape shape_;
  std::size_t heads_;
  std::vector<std::size_t> kept_rows_, kept_cols_;
  Tensor<T> values_;  // [matrices, kept rows, kept cols]
};

}  // namespace mha
