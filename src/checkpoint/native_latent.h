#pragma once

#include "checkpoint/head_count.h"
#include "checkpoint/native_shapes.h"
#include "layer/weights.h"

namespace mha {

// Whether any tensor is one of latent attention's.
bool is_latent(const ShapeCheck& check);

// find_attention() for latent attention.
AttentionSizes find_latent(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads);

}  // namespace mha
