#pragma once

#include "checkpoint/head_count.h"
#include "checkpoint/native_shapes.h"
#include "layer/weights.h"

namespace mha {

// Attention under its native names, each tensor in one of the forms
//   W_Q           [n_heads, d_model, d_head]    stacked
//   W_Q           [d_model, n_heads * d_head]   heads side by side
//   heads[r].W_Q  [d_model, d_head]             one a head
// and W_K, W_V, W_O, the biases, bias_k and bias_v alike; grouped heads may
// call theirs kv_heads[g].W_K. Side by side needs n_heads. Latent attention has
//   W_DQ [d_model, q_rank], q_latent_norm.weight [q_rank]   or neither
//   W_UQ [n_heads, q_rank or d_model, d_nope], W_QR [n_heads, .., d_rope]
//   W_DKV [d_model, kv_rank], kv_latent_norm.weight [kv_rank]
//   W_UK [n_heads, kv_rank, d_nope], W_UV [n_heads, kv_rank, d_v]
//   W_KR [d_model, d_rope]                                  with W_QR, or neither
// in place of W_Q, W_K, W_V. Takes what it finds into `check`; the head counts
// are filled in where they are not said. Throws Error that names tensor, found
// and expected shape and what the expectation comes from; for tensors that are
// missing or contradict each other.
AttentionSizes find_attention(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads);

}  // namespace mha
