#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/found_tensor.h"
#include "checkpoint/settings.h"
#include "checkpoint/translate.h"
#include "files/archive.h"
#include "layer/settings.h"
#include "layer/weights.h"

namespace mha {

// Layers of a stack, counted from 0, both included.
struct LayerRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// What the command line says about the model. It wins over the file, except
// for head counts, where a contradiction is an error.
struct ModelOptions {
  std::optional<std::size_t> n_heads;
  std::optional<std::size_t> n_kv_heads;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::optional<Causal> causal;
  std::optional<Rope> rope;
  std::optional<double> rope_theta;
  std::optional<NormPlacement> norm;
  std::optional<Activation> activation;
  std::optional<double> eps;
  std::optional<LayerRange> layers;  // none: all
  std::optional<Part> part;          // none: all that the file holds
  std::string prefix;                // which tower; "": the only one
  std::string config;                // path; "": config.json beside the weights
  bool absorb = false;               // latent attention in its absorbed form
  bool allow_nonfinite = false;
};

// A layer whose shapes and settings are checked and none of whose tensors was
// read.
struct OpenedLayer {
  std::size_t index = 0;  // in its file
  LayerSizes sizes;       // d_ff also where only its attention runs
  LayerSettings settings;
  FoundTensors tensors;  // all that the file holds of it
};

struct OpenedModel {
  Translated translated;
  std::vector<OpenedLayer> layers;  // those that run
  std::size_t n_layers = 0;         // those that the file holds
  bool final_norm = false;          // runs: all layers do, and whole
  FoundTensors tensors;             // of the stack: norm.weight, norm.bias
  std::vector<SettingInForce> in_force;
};

// Finds what the options ask for, in any scheme that translate() knows, and
// holds shapes and settings of all layers against each other, from headers
// only. A setting is the option's, else the weights file's, the config's, the
// scheme's, else the default of layer/settings.h. Throws Error that names file,
// tensor and both shapes; for tensors and settings that are unknown, with the
// nearest known name; for a layer or a part that is not there.
OpenedModel open_model(const Archive& archive, const ModelOptions& options);

// Reads the tensors that the opened layers need, and no others. `options` are
// those that it was opened with. Throws Error for a dtype that is no number
// and for elements that are not finite, unless allowed.
template <typename T>
Encoder<T> read_model(const OpenedModel& model, const ModelOptions& options);

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
