#include "layer/head_inputs.h"

#include <algorithm>
#include <cassert>

#include "kernels/rotary.h"
#include "layer/latent.h"
#include "layer/projection.h"

namespace mha {

template <typename T>
std::size_t HeadInputs<T>::size_of(const AttentionSizes& sizes, const MaskAxes& axes) {
  return axes.n_queries * (sizes.n_heads * sizes.d_head + sizes.q_rank) +
         sizes.columns(axes.n_keys) * sizes.n_kv_heads * (sizes.d_head + sizes.d_v) +
         axes.n_keys * sizes.kv_rank;
}

template <typename T>
HeadInputs<T>::HeadInputs(const AttentionWeights<T>& weights,
                          const AttentionSettings& settings, const MaskAxes& axes)
    : weights_(weights),
      settings_(settings),
      n_keys_(axes.n_keys),
      positions_(first_positions(settings.causal, axes)),
      absorbed_(weights.latent && is_absorbed(*weights.latent)) {
  const AttentionSizes& sizes = weights.sizes;
  assert(weights.latent.has_value() == (sizes.kv_rank > 0));
  assert(!(weights.latent && sizes.bias_key));
  const std::size_t columns = sizes.columns(axes.n_keys);
  q_ = Tensor<T>({axes.n_queries, sizes.n_heads * sizes.d_head});
  q_latents_ = Tensor<T>({axes.n_queries, sizes.q_rank});
  k_ = Tensor<T>({columns, sizes.n_kv_heads * sizes.d_head});
  if (!absorbed_) {
    kv_latents_ = Tensor<T>({axes.n_keys, sizes.kv_rank});
    v_ = Tensor<T>({columns, sizes.n_kv_heads * sizes.d_v});
  }
  // What stands behind the keys is the same for every item.
  std::size_t row = axes.n_keys;
  if (sizes.bias_key) {
    std::copy_n(weights.bias_k.data(), weights.bias_k.size(), k_.matrix().row(row));
    std::copy_n(weights.bias_v.data(), weights.bias_v.size(), v_.matrix().row(row));
    ++row;
  }
  if (sizes.zero_key) {
    std::fill_n(k_.matrix().row(row), k_.shape()[1], T{0});
    if (!absorbed_) std::fill_n(v_.matrix().row(row), v_.shape()[1], T{0});
  }
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::queries(ConstMatrixView<T> x) {
  const MatrixView<T> q = q_.matrix();
  if (weights_.latent) {
    latent_queries(*weights_.latent, weights_.sizes, settings_.latent_eps, x,
                   q_latents_.matrix(), q);
  } else {
    project(x, weights_.W_Q, weights_.b_Q, q);
  }
  turn(q, weights_.sizes.n_heads, positions_.query);
  return q;
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::keys(ConstMatrixView<T> key) {
  const MatrixView<T> k = k_.matrix().row_block(0, n_keys_);
  if (weights_.latent) {
    latent_keys(*weights_.latent, weights_.sizes, settings_.latent_eps, key, latents(), k);
  } else {
    project(key, weights_.W_K, weights_.b_K, k);
  }
  turn(k, weights_.sizes.n_kv_heads, positions_.key);
  return k_.matrix();
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::values(ConstMatrixView<T> value) {
  if (absorbed_) return k_.matrix().col_block(0, weights_.sizes.kv_rank);
  const MatrixView<T> v = v_.matrix().row_block(0, n_keys_);
  if (weights_.latent) {
    project<T>(latents(), weights_.latent->W_UV, {}, v);
  } else {
    project(value, weights_.W_V, weights_.b_V, v);
  }
  return v_.matrix();
}

// Rotary positions on what turns of each head.
template <typename T>
void HeadInputs<T>::turn(MatrixView<T> heads, std::size_t n_heads,
                         std::size_t first_position) {
  if (settings_.rope == Rope::none) return;
  rotate(heads, n_heads, weights_.latent ? weights_.sizes.d_rope : weights_.sizes.d_head,
         settings_.rope == Rope::halves ? RotaryPairs::halves : RotaryPairs::neighbours,
         settings_.rope_theta, first_position);
}

// Of the keys, [n_keys, kv_rank].
template <typename T>
MatrixView<T> HeadInputs<T>::latents() {
  if (!absorbed_) return kv_latents_.matrix();
  return k_.matrix().row_block(0, n_keys_).col_block(0, weights_.sizes.kv_rank);
}

template class HeadInputs<float>;
template class HeadInputs<double>;

}  // namespace mha
