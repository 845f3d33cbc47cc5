#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "checkpoint/settings.h"
#include "files/archive.h"
#include "layer/settings.h"
#include "layer/weights.h"

namespace mha {

// What the command line says about the model; it wins over the file, except
// for head counts, where a contradiction is an error.
struct ModelOptions {
  std::optional<std::size_t> n_heads;
  std::optional<std::size_t> n_kv_heads;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::optional<Causal> causal;
  bool allow_nonfinite = false;
};

template <typename T>
struct LoadedAttention {
  AttentionWeights<T> weights;
  AttentionSettings settings;
  std::vector<SettingInForce> in_force;
};

// Native names (contract: W_Q [n_heads, d_model, d_head] …, stacked, or one
// `heads[r].W_Q` a head) to a layer's weights. W_Q … W_O with two axes, heads
// side by side ([d_model, n_heads * d_head]), need n_heads from a setting or
// an option. Throws Error that names file, tensor and both shapes; refuses
// tensors and settings it does not know by name, with the nearest known one.
template <typename T>
LoadedAttention<T> load_attention(const Archive& archive, const ModelOptions& options);

}  // namespace mha
