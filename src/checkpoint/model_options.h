#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/translate.h"
#include "layer/settings.h"

namespace mha {

// Layers of a stack, counted from 0, both included.
struct LayerRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// "layer 7 is not there, layers are 0 to 5"
std::string layer_not_there(std::size_t layer, std::size_t n_layers);

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
  std::optional<LayerRange> layers;  // none: all, and the stack's last norm
  std::optional<Part> part;          // none: all that the file holds
  std::string prefix;                // which tower; "": the only one
  std::string config;                // path; "": config.json beside the weights
  bool absorb = false;               // latent attention in its absorbed form
  bool allow_nonfinite = false;
};

// Those of the options that tell how a file's names are read.
TranslateOptions translate_options(const ModelOptions& options);

// Those of the options that are settings, each with its option as source.
std::vector<Said> said_by(const ModelOptions& options);

}  // namespace mha
