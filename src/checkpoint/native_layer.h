#pragma once

#include "checkpoint/head_count.h"
#include "checkpoint/native_shapes.h"
#include "layer/weights.h"

namespace mha {

// One layer under its native names: attention (native_attention.h), and where
// they are there
//   W_1 [d_model, d_ff], b_1 [d_ff], W_2 [d_ff, d_model], b_2 [d_model],
//   W_G [d_model, d_ff], b_G [d_ff],
//   norm1.weight, norm1.bias, norm2.weight, norm2.bias [d_model],
//   relative_bias [buckets, n_heads]
// Takes what it finds into `check`. Throws what find_attention() throws.
LayerSizes find_layer(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads);

// NORM.weight and NORM.bias [d_model], where they are there.
void find_norm(ShapeCheck& check, const std::string& norm, std::size_t d_model,
               const std::string& why);

// relative_bias [buckets, n_heads], where it is there.
void find_relative_bias(ShapeCheck& check, const HeadCount& n_heads);

}  // namespace mha
