#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace mha {

// Keys and values of one head in the order in which attend_rows() reads them:
// K^T in panels [d_head, panel], V in panels [n_keys, panel], zeros behind
// the last key and channel. `packed` holds packed_…_size() floats, aligned to a
// cache line.
std::size_t packed_keys_size(std::size_t n_keys, std::size_t d_head) noexcept;
std::size_t packed_values_size(std::size_t n_keys, std::size_t d_v) noexcept;
void pack_keys(ConstMatrixView<float> k, float* packed) noexcept;
void pack_values(ConstMatrixView<float> v, float* packed) noexcept;

// The keys that the query in row i of a block sees by its position: those from
// max(0, i + first) to min(limit, i + end); limit <= n_keys.
struct KeyWindow {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
  std::size_t limit = 0;
};

// Changes scaled scores before the softmax: masks, caps, adds. Row 0 of `scores`
// is the block's row `row`, its column 0 is key `key`.
class ScoreChange {
 public:
  virtual ~ScoreChange() = default;
  virtual void apply(std::size_t row, std::size_t key, MatrixView<float> scores) const = 0;
};

// One block of query rows of one head.
struct AttendBlock {
  ConstMatrixView<float> q;  // [rows, d_head]
  std::size_t n_keys = 0;
  const float* packed_keys = nullptr;
  const float* packed_values = nullptr;
  float scale = 1.0F;
  KeyWindow window;
  const ScoreChange* change = nullptr;  // none: null
  MatrixView<float> output;             // [rows, d_v]
  MatrixView<float> scores;             // [rows, n_keys] as changed, or empty: not kept
  MatrixView<float> map;                // [rows, n_keys], or empty
};

// Softmax attention of a block (Vaswani et al. 2017, eq. 1) with scores that do
// not leave the first cache unless they are asked for: online softmax (Milakov &
// Gimelshein 2018) over blocks of keys (Dao et al. 2022, algorithm 1). The output
// has the same bits whether scores and maps are asked for or not. Returns how many
// rows see no key: they read zeros. A row with a score of +Inf or NaN is NaN.
// `scratch` holds attend_scratch() floats, aligned to a cache line.
std::size_t attend_rows(const AttendBlock& block, float* scratch) noexcept;
std::size_t attend_scratch(std::size_t rows, std::size_t d_v, std::size_t n_keys) noexcept;

}  // namespace mha
