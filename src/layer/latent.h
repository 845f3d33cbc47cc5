#pragma once

#include "layer/settings.h"
#include "layer/weights.h"
#include "tensor/view.h"

namespace mha {

// Queries, keys and values through latents (DeepSeek-V2, eq. 37-47), RN an RMS
// norm (section 2.1.2) and heads i side by side:
//   q_i = [RN(x W_DQ) W_UQ^i ; RN(x W_DQ) W_QR^i],  c = RN(key W_DKV),
//   k_i = [c W_UK^i ; key W_KR],                    v_i = c W_UV^i
// and absorbed, for all heads, k = [c ; key W_KR] and v = c. Rotary positions
// come after it: they turn the last d_rope channels of each head of q and k.

// Whether the up-projections of keys and values are part of W_UQ and W_O.
template <typename T>
bool is_absorbed(const LatentWeights<T>& latent) {
  return latent.W_UK.empty();
}

// q [n, n_heads * d_head] from x [n, d_model]. `latents` [n, q_rank] holds the
// normalised ones after it, and is not touched where q_rank is 0.
template <typename T>
void latent_queries(const LatentWeights<T>& weights, const AttentionSizes& sizes, double eps,
                    ConstMatrixView<T> x, MatrixView<T> latents, MatrixView<T> q);

// `latents` [n, kv_rank], normalised, and k [n, n_kv_heads * d_head] from key
// [n, d_model]. Absorbed, the latents may be k's first columns.
template <typename T>
void latent_keys(const LatentWeights<T>& weights, const AttentionSizes& sizes, double eps,
                 ConstMatrixView<T> key, MatrixView<T> latents, MatrixView<T> k);

// Turns weights into the absorbed form (DeepSeek-V2, section 2.1.2): W_UK^i goes
// into W_UQ^i and W_UV^i into W_O^i, so that all heads read one key and value,
// the latent's: n_kv_heads 1, d_head kv_rank + d_rope, d_v kv_rank. Maps and y
// stay what they are, and so does the scale. Weights that are absorbed stay.
// REQUIRES: weights.latent. Throws Error(Fault::system) without memory.
template <typename T>
void absorb(AttentionWeights<T>& weights, AttentionSettings& settings);

}  // namespace mha
