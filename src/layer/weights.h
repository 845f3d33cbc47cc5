#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "layer/settings.h"
#include "tensor/tensor.h"

namespace mha {

// The sizes of attention. Grouped heads: query head r reads key/value head
// r / (n_heads / n_kv_heads), and n_kv_heads divides n_heads.
struct AttentionSizes {
  std::size_t d_model = 0;  // width of x and of y
  std::size_t d_key = 0;    // width of the source of K
  std::size_t d_value = 0;  // width of the source of V
  std::size_t n_heads = 0;
  std::size_t n_kv_heads = 0;
  std::size_t d_head = 0;  // of q and k
  std::size_t d_v = 0;     // of v and of a head's output
  bool bias_key = false;   // bias_k and bias_v stand behind the keys, …
  bool zero_key = false;   // and a key and value of zeros behind those (add_zero_attn)
  // Latent attention (LatentWeights); 0 without.
  std::size_t q_rank = 0;  // 0 with kv_rank: queries have no latent
  std::size_t kv_rank = 0;
  std::size_t d_rope = 0;  // of d_head, the last channels

  std::size_t kv_head_of(std::size_t head) const { return head / (n_heads / n_kv_heads); }
  // Columns of scores and maps: the keys, then those that no mask hides.
  std::size_t columns(std::size_t n_keys) const {
    return n_keys + (bias_key ? 1 : 0) + (zero_key ? 1 : 0);
  }
};

// Queries, keys and values through latents (DeepSeek-V2, eq. 37-47), heads side
// by side. A head's q and k are [d_nope of content; d_rope that rotary
// positions turn], d_head = d_nope + d_rope; the turned part of k is one for
// all heads. No latent for queries: W_DQ is empty and W_UQ, W_QR read x.
// Absorbed weights (absorb()) have no W_UK and W_UV: the one key/value head of
// content is the latent itself.
template <typename T>
struct LatentWeights {
  Tensor<T> W_DQ;            // [d_model, q_rank]
  Tensor<T> q_latent_norm;   // [q_rank]
  Tensor<T> W_UQ;            // [q_rank, n_heads * d_nope]
  Tensor<T> W_QR;            // [q_rank, n_heads * d_rope]
  Tensor<T> W_DKV;           // [d_model, kv_rank]
  Tensor<T> kv_latent_norm;  // [kv_rank]
  Tensor<T> W_UK;            // [kv_rank, n_heads * d_nope]
  Tensor<T> W_UV;            // [kv_rank, n_heads * d_v]
  Tensor<T> W_KR;            // [d_model, d_rope]
};

// Weights of one multi-head attention (Vaswani et al. 2017, section 3.2.2) in
// row-vector convention, heads side by side: Q = x W_Q + b_Q, and the columns
// [r d_head, (r + 1) d_head) of Q are head r's. The rows [r d_v, (r + 1) d_v)
// of W_O are W_O^(r). What is not there is an empty tensor.
template <typename T>
struct AttentionWeights {
  AttentionSizes sizes;
  Tensor<T> W_Q;            // [d_model, n_heads * d_head]
  Tensor<T> W_K;            // [d_key, n_kv_heads * d_head]
  Tensor<T> W_V;            // [d_value, n_kv_heads * d_v]
  Tensor<T> W_O;            // [n_heads * d_v, d_model]
  Tensor<T> b_Q;            // [n_heads * d_head]
  Tensor<T> b_K;            // [n_kv_heads * d_head]
  Tensor<T> b_V;            // [n_kv_heads * d_v]
  Tensor<T> b_O;            // [d_model]
  Tensor<T> bias_k;         // [n_kv_heads * d_head], with sizes.bias_key
  Tensor<T> bias_v;         // [n_kv_heads * d_v]
  Tensor<T> relative_bias;  // [buckets, n_heads]: T5's, added to the scaled scores
  std::optional<LatentWeights<T>> latent;  // in place of W_Q, W_K, W_V and their biases
};

// Drops the W_O blocks of these heads, so that they contribute nothing to y
// while their maps stay what they are. Throws Error for a head that is not
// there ("head 3 to ablate is not there, heads are 0 to 1").
template <typename T>
void ablate(AttentionWeights<T>& weights, const std::vector<std::size_t>& heads);

// The scale and shift of a norm; no weight: there is no norm, x passes as it is.
template <typename T>
struct NormWeights {
  Tensor<T> weight;  // [d_model]
  Tensor<T> bias;    // [d_model], or empty
};

// ffn(x) = act(x W_1 + b_1) W_2 + b_2, or gated (Shazeer 2020, section 2):
// (act(x W_G + b_G) * (x W_1 + b_1)) W_2 + b_2. A bias that is not there is empty.
template <typename T>
struct FeedForwardWeights {
  Tensor<T> W_1;  // [d_model, d_ff]
  Tensor<T> b_1;  // [d_ff]
  Tensor<T> W_G;  // [d_model, d_ff], or empty: not gated
  Tensor<T> b_G;  // [d_ff]
  Tensor<T> W_2;  // [d_ff, d_model]
  Tensor<T> b_2;  // [d_model]
};

struct LayerSizes {
  AttentionSizes attention;
  std::size_t d_ff = 0;  // 0: attention alone
  bool gated = false;
};

// One encoder layer and how it computes.
template <typename T>
struct Layer {
  std::size_t index = 0;  // in its checkpoint
  LayerSettings settings;
  AttentionWeights<T> attention;
  NormWeights<T> norm1;  // of attention
  NormWeights<T> norm2;  // of the feed-forward
  FeedForwardWeights<T> feed_forward;

  LayerSizes sizes() const {
    const Tensor<T>& W_1 = feed_forward.W_1;
    return {attention.sizes, W_1.empty() ? 0 : W_1.shape()[1], !feed_forward.W_G.empty()};
  }
};

// Layers that run one after another, then a last norm where there is one (of
// the last layer's type and eps).
template <typename T>
struct Encoder {
  std::vector<Layer<T>> layers;
  NormWeights<T> norm;
};

}  // namespace mha
