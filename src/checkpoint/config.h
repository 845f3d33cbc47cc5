#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/schemes.h"
#include "checkpoint/translate.h"
#include "files/bytes.h"
#include "files/json.h"

namespace mha {

// A model's config.json: its settings by dotted keys.
struct Config {
  std::string path;  // begins every message
  std::map<std::string, ConfigEntry> entries;

  // Null where the key is not there or its value is null.
  const ConfigEntry* find(const std::string& key) const;
};

Config read_config(const Bytes& bytes, const std::string& path);

// The file of that name beside (or in the folder) `weights`; "" where there is
// none.
std::string file_beside(const std::string& weights, const std::string& name);

// The file `asked` for, or config.json beside (or in the folder) `weights`,
// where there is one. Throws Error(Fault::system) where the file asked for
// cannot be read.
std::optional<Config> open_config(const std::string& asked, const std::string& weights);

// What the keys that speak of this row's tower begin with: "text_config.", or "".
std::string section_of(const Config& config, const Scheme& scheme);

// The model_type that a config says of this row's tower; "" where it says none.
std::string model_type_of(const Config& config, const Scheme& scheme);

// A whole number that the config says, with its key as messages name it.
struct SaidCount {
  std::size_t value = 0;
  std::string source;  // "config.json: qk_rope_head_dim"
};
std::optional<SaidCount> count_said(const Config& config, const Scheme& scheme,
                                    const std::string& key);

struct SchemeSettings {
  std::vector<Said> config;
  std::vector<Said> defaults;
};

// What the config and the row say of these layers, each setting once; windows
// that differ from layer to layer as layers.K.window. Keys that nobody knows
// say nothing. Throws Error that names file and key for a value that means
// nothing and for what is not done: scaled or partial rotary positions, …
// `stack`: the layers are numbered. `rope_known`: somebody else says how
// positions turn.
SchemeSettings settings_of(const Config* config, const Scheme& scheme,
                           const std::vector<std::size_t>& layers, bool stack,
                           bool rope_known);

}  // namespace mha
