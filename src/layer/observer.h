#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// The steps of a layer; [n, …] of one item of the batch. A pre-norm layer does
// norm1 before q and norm2 before ffn_hidden.
enum class Step {
  x,                 // [n_queries, d_model]
  q,                 // [n_heads, n_queries, d_head], turned where there are rotary positions
  k,                 // [n_kv_heads, columns(n_keys), d_head], likewise
  v,                 // [n_kv_heads, columns(n_keys), d_v]
  scores,            // [n_heads, n_queries, columns(n_keys)], scaled, capped, masked
  maps,              // [n_heads, n_queries, columns(n_keys)]
  head_outputs,      // [n_heads, n_queries, d_v]
  concat,            // [n_queries, n_heads * d_v]
  contributions,     // [n_heads, n_queries, d_model], O_r W_O^(r)
  attention_output,  // [n_queries, d_model], as all below but ffn_hidden
  residual1,         // x + attention_output
  norm1,
  ffn_hidden,  // [n_queries, d_ff], what enters W_2
  ffn_output,
  residual2,  // what entered the feed-forward's branch + ffn_output
  norm2,
  y,     // of a layer; of a stack its output
  norm,  // of a stack: after the last norm
};
inline constexpr std::size_t kSteps = 18;

std::string_view name_of(Step step);
std::optional<Step> step_named(std::string_view name);

// The steps that a layer does, in order of computation.
std::vector<Step> steps_of(const LayerSettings& settings);

// Shape of a step for one item of the batch, as the list above.
Shape shape_of(Step step, const LayerSizes& sizes, std::size_t n_queries, std::size_t n_keys);

// Where a block of rows stands in its step: rows [first_row, first_row +
// block.rows) of head `head` (0 where the step has no heads) of batch item
// `item`.
struct Place {
  std::size_t item = 0;
  std::size_t head = 0;
  std::size_t first_row = 0;
};

// Someone who watches a layer. It asks wants() before it does work only
// for show, and calls rows() with each block once; the view is the layer's and
// ends with the call. Order within a step: items one after another; scores and
// maps come in blocks of rows, every head of one row range before the next row
// range; what has no heads may come in blocks of rows, too. A step's other
// blocks are whole heads.
template <typename T>
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool wants(Step) const { return false; }
  virtual void rows(Step, const Place&, ConstMatrixView<T>) {}
  // Whether blocks of a step may come in any order and from several threads at
  // once: scores and maps, which are large, then do.
  virtual bool any_order(Step) const { return false; }
};

// Someone who watches a stack: an observer for each layer of those that run,
// counted from 0, and one for what the stack adds to them (norm, y).
template <typename T>
class StackObserver {
 public:
  virtual ~StackObserver() = default;
  virtual Observer<T>& layer(std::size_t) { return nobody_; }
  virtual Observer<T>& stack() { return nobody_; }

 private:
  Observer<T> nobody_;
};

}  // namespace mha
