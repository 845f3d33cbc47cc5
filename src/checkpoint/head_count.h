#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "checkpoint/native_shapes.h"

namespace mha {

// A head count, and who says it. What an option or the weights file says must
// agree with the shapes; a config gives way to all of them.
struct HeadCount {
  std::string name;  // "n_heads"
  std::optional<std::size_t> said;
  std::string source;  // "--n-heads", "w.json"; once settled also "shape of W_Q"
  std::optional<std::size_t> config;
  std::string config_source;
};

// "n_heads 2, shape of W_Q"
std::string to_string(const HeadCount& count);

// Whether a config says another count than the one that is in force.
bool overruled(const HeadCount& count);

// Throws Error where it is said to be 0.
void require_heads(const ShapeCheck& check, const HeadCount& count, std::size_t d_model);

// Takes the count that the shape of `projection` tells, where it tells one.
// Throws Error where another is said.
void settle(const ShapeCheck& check, HeadCount& count, const Projection& projection);

// Throws Error where nothing tells into how many heads `projection` splits.
void require_said(const ShapeCheck& check, const HeadCount& count,
                  const Projection& projection);

// Takes the config's where nothing else is said.
void settle_by_config(HeadCount& count);

// Adds to the source that a config says otherwise, once the count is settled.
void note_config(HeadCount& count);

}  // namespace mha
