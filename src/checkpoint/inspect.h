#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/load.h"
#include "checkpoint/settings.h"
#include "files/archive.h"

namespace mha {

// A tensor of a file, and what it is to a layer.
struct InspectedTensor {
  std::string name;
  std::string dtype;  // as the file spells it
  Shape shape;
  // "layers.0.W_Q"; "layers.0.W_Q, W_K, W_V" for a fused one; "" for one that
  // no layer uses, and for all where no scheme was recognised.
  std::string role;
};

// What a weights file holds, as far as its headers and a config tell.
struct Inspection {
  std::string path;
  std::string container;
  std::string scheme;                 // "" where none was recognised
  std::vector<std::string> evidence;  // a line each
  std::size_t n_layers = 0;           // 0 where that is not known
  bool final_norm = false;
  std::vector<SettingInForce> settings;
  std::vector<InspectedTensor> tensors;
  std::vector<Skipped> skipped;
  std::size_t parameters = 0;  // elements of all tensors
  std::size_t bytes = 0;       // of those of a type that we know
  std::string problem;         // why it cannot be run as it is; "": it can
};

// Never throws for what translate() and open_model() refuse: that is the
// problem, and the rest is still told.
Inspection inspect(const Archive& archive, const ModelOptions& options);

}  // namespace mha
