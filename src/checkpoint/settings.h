#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/archive.h"
#include "layer/settings.h"

namespace mha {

// A setting that is in force, and who said so.
struct SettingInForce {
  std::string name;    // "n_heads"
  std::string value;   // "2"
  std::string source;  // "shape of W_Q", "w.bin", "default", "--scale"
};

// What a weights file says beside its tensors.
struct FileSettings {
  std::optional<std::size_t> n_heads;
  std::optional<std::size_t> n_kv_heads;
  std::map<std::string, std::size_t> sizes;  // d_model, d_head …: only held against the shapes
  std::optional<double> scale;
  std::optional<double> softcap;
  std::optional<Causal> causal;
  std::vector<SettingInForce> unused;  // of whole encoder layers
};

// Throws Error that names file and setting: for a value that is none, for a
// setting that attention would need and that is not done, and for an unknown
// one, with the nearest known name. The metadata of safetensors may hold keys
// of other programs; there only those near a known one are refused.
FileSettings read_settings(const Archive& archive);

}  // namespace mha
