#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// The steps of attention, in order of computation.
enum class Step {
  x,                 // [n_queries, d_model]
  q,                 // [n_heads, n_queries, d_head]
  k,                 // [n_kv_heads, n_keys, d_head]
  v,                 // [n_kv_heads, n_keys, d_v]
  scores,            // [n_heads, n_queries, n_keys], scaled, capped, masked
  maps,              // [n_heads, n_queries, n_keys]
  head_outputs,      // [n_heads, n_queries, d_v]
  concat,            // [n_queries, n_heads * d_v]
  contributions,     // [n_heads, n_queries, d_model], O_r W_O^(r)
  attention_output,  // [n_queries, d_model]
};
inline constexpr std::size_t kSteps = 10;

std::string_view name_of(Step step);
std::optional<Step> step_named(std::string_view name);
std::array<Step, kSteps> all_steps();

// Shape of a step for one item of the batch, as the list above.
Shape shape_of(Step step, const AttentionSizes& sizes, std::size_t n_queries,
               std::size_t n_keys);

// Where a block of rows stands in its step: rows [first_row, first_row +
// block.rows) of head `head` (0 where the step has no heads) of batch item
// `item`.
struct Place {
  std::size_t item = 0;
  std::size_t head = 0;
  std::size_t first_row = 0;
};

// Someone who watches a run. The layer asks wants() before it does work only
// for show, and calls rows() with each block once; the view is the layer's and
// ends with the call. Order: items one after another; scores and maps come in
// blocks of rows, every head of one row range before the next row range. A
// step's other blocks are whole heads.
template <typename T>
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool wants(Step) const { return false; }
  virtual void rows(Step, const Place&, ConstMatrixView<T>) {}
};

}  // namespace mha
