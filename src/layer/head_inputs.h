#pragma once

#include <cstddef>

#include "layer/mask.h"
#include "layer/settings.h"
#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// What the heads read: makes q, k and v of a few items at a time, heads side by side, in
// buffers of so many: x W + b or through latents (layer/latent.h), q and k turned where there
// are rotary positions, the learned and the zero key behind the others; and takes what the
// heads read. Weights and settings must outlive it; a view holds until the next items'.
template <typename T>
class HeadInputs {
 public:
  // How many items at a time: short ones together, so that all of them are one product
  // with each matrix of weights.
  static std::size_t items_at_a_time(const AttentionSizes& sizes, const MaskAxes& axes);
  // Elements that one holds.
  static std::size_t size_of(const AttentionSizes& sizes, const MaskAxes& axes);

  HeadInputs(const AttentionWeights<T>& weights, const AttentionSettings& settings,
             const MaskAxes& axes);

  // From x [items * n_queries, d_model], key [items * n_keys, d_key] and value
  // [items * n_keys, d_value] (latents: of the keys).
  void make(ConstMatrixView<T> x, ConstMatrixView<T> key, ConstMatrixView<T> value);

  // Of an item among those that were made.
  ConstMatrixView<T> q(std::size_t item) const;  // [n_queries, n_heads * d_head]
  ConstMatrixView<T> k(std::size_t item) const;  // [columns, n_kv_heads * d_head]
  ConstMatrixView<T> v(std::size_t item) const;  // [columns, n_kv_heads * d_v]

  // For what the heads read, [n_queries, n_heads * d_v], and all items' under one another.
  // Where heads are as wide as values, it stands in q's place: a head's rows overwrite
  // the queries that read them.
  MatrixView<T> concat(std::size_t item);
  MatrixView<T> concat_rows(std::size_t items);

 private:
  void project_inputs(ConstMatrixView<T> x, ConstMatrixView<T> key, ConstMatrixView<T> value,
                      MatrixView<T> q, MatrixView<T> k, MatrixView<T> v);
  void turn(MatrixView<T> heads, std::size_t n_heads, std::size_t rows,
            std::size_t first_position);

  const AttentionWeights<T>& weights_;
  const AttentionSettings& settings_;
  const std::size_t n_queries_;
  const std::size_t n_keys_;
  const std::size_t columns_;
  const FirstPositions positions_;
  const bool absorbed_;  // the first columns of k are the latents and v
  // Rows of items_at_a_time() items under one another.
  Tensor<T> q_;           // [items * n_queries, n_heads * d_head]
  Tensor<T> q_latents_;   // [items * n_queries, q_rank]
  Tensor<T> k_;           // [items * columns, n_kv_heads * d_head]
  Tensor<T> kv_latents_;  // [items * n_keys, kv_rank]; absorbed: empty
  Tensor<T> v_;           // [items * columns, n_kv_heads * d_v]; absorbed: empty
  Tensor<T> concat_;      // [items * n_queries, n_heads * d_v]; empty: in q's place
};

}  // namespace mha
