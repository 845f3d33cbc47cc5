#pragma once

#include <cstddef>

#include "layer/mask.h"
#include "layer/settings.h"
#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// What the heads read: makes q, k and v of one item after another, heads side by side, in
// buffers of one item: x W + b or through latents (layer/latent.h), q and k turned where there
// are rotary positions, the learned and the zero key behind the others. Weights and settings
// must outlive it; a view holds until the next item's.
template <typename T>
class HeadInputs {
 public:
  // Elements that one holds.
  static std::size_t size_of(const AttentionSizes& sizes, const MaskAxes& axes);

  HeadInputs(const AttentionWeights<T>& weights, const AttentionSettings& settings,
             const MaskAxes& axes);

  // [n_queries, n_heads * d_head] from x [n_queries, d_model].
  ConstMatrixView<T> queries(ConstMatrixView<T> x);
  // [columns, n_kv_heads * d_head] from key [n_keys, d_key].
  ConstMatrixView<T> keys(ConstMatrixView<T> key);
  // [columns, n_kv_heads * d_v] from value [n_keys, d_value], or from the
  // latents of the keys(), which come first.
  ConstMatrixView<T> values(ConstMatrixView<T> value);

 private:
  void turn(MatrixView<T> heads, std::size_t n_heads, std::size_t first_position);
  MatrixView<T> latents();

  const AttentionWeights<T>& weights_;
  const AttentionSettings& settings_;
  const std::size_t n_keys_;
  const FirstPositions positions_;
  const bool absorbed_;   // the first columns of k are the latents and v
  Tensor<T> q_;           // [n_queries, n_heads * d_head]
  Tensor<T> q_latents_;   // [n_queries, q_rank]
  Tensor<T> k_;           // [columns, n_kv_heads * d_head]
  Tensor<T> kv_latents_;  // [n_keys, kv_rank]; absorbed: empty
  Tensor<T> v_;           // [columns, n_kv_heads * d_v]; absorbed: empty
};

}  // namespace mha
