#pragma once

#include <string>

#include "files/archive.h"

namespace mha {

// Headerless little-endian floats whose layout the user states:
//   d_model=512,n_heads=8[,d_head=64][,dtype=f32|f64|f16|bf16][,bias]
// The whole W_Q [n_heads, d_model, d_head], then W_K, W_V alike, W_O [n_heads,
// d_head, d_model], then with `bias` b_Q, b_K, b_V [n_heads, d_head] and b_O
// [d_model]. d_head defaults to d_model / n_heads. Throws Error for another
// key, an indivisible width, or a size that is not that to the byte.
Archive open_raw(const std::string& path, const std::string& layout);

}  // namespace mha
