#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "files/archive.h"

namespace mha {

// A setting by its native name ("n_heads", "layers.3.window"), as text, and the
// file or scheme that says so.
struct Said {
  std::string name;
  std::string value;
  std::string source;
};

// A weights file under native names.
struct Translated {
  // W_Q … of a lone layer, or layers.K.W_Q … and norm.weight; the members are
  // views of the file's, path and container are the file's.
  Archive archive;
  bool stack = false;                 // layers.K. names
  std::string scheme;                 // "bert", "native"
  std::vector<std::string> evidence;  // a line each: why this scheme
  // What the weights file, the config and the scheme say; the former win.
  std::vector<Said> file;
  std::vector<Said> config;
  std::vector<Said> defaults;
  std::vector<std::string> unused;  // tensors left aside, by their file's names
  // Why text cannot be turned into x; "": nothing is known against it.
  std::string no_text;
  // Why layers of the file behind the last one are not there; "": there are none.
  std::string not_done;
};

struct TranslateOptions {
  std::string prefix;  // which tower; "": the only one
  std::string config;  // path; "": config.json beside the weights
  std::optional<std::size_t> n_heads;
  std::optional<std::size_t> n_kv_heads;
  bool rope = false;  // an option says how positions turn: tables of theirs may be left aside
};

// Recognises the naming scheme and turns every tensor of the layers into its
// native name by a view of it; nothing is read.
Translated translate(const Archive& archive, const TranslateOptions& options);

}  // namespace mha
