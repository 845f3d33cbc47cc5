#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "files/archive.h"
#include "layer/weights.h"

namespace mha {

// A head count, and who says it.
struct HeadCount {
  std::optional<std::size_t> said;
  std::string source;  // "--n-heads", "w.json"; after reading also "shape of W_Q"
};

// Attention weights under their native names, each tensor in one of the forms
//   W_Q           [n_heads, d_model, d_head]    stacked
//   W_Q           [d_model, n_heads * d_head]   heads side by side
//   heads[r].W_Q  [d_model, d_head]             one a head
// and W_K, W_V, W_O and the biases alike; grouped heads may call theirs
// kv_heads[g].W_K. Side by side needs n_heads. The head counts are filled in
// where they are not said. Throws Error that names tensor, found and expected
// shape and what the expectation comes from; for tensors that are missing or
// unknown; and for elements that are not finite, unless allowed.
template <typename T>
AttentionWeights<T> read_native(const Archive& archive, HeadCount& n_heads,
                                HeadCount& n_kv_heads, bool allow_nonfinite);

}  // namespace mha
