#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "checkpoint/schemes.h"
#include "files/archive.h"

namespace mha {

// What fused tensors of a layer are cut at.
struct Lengths {
  std::size_t n_heads = 0;
  std::map<std::string, std::size_t> of;

  // 0 for no name. REQUIRES a name that was measured.
  std::size_t at(const std::string& name) const { return name.empty() ? 0 : of.at(name); }
};

// A tensor of a file as the native one that the rule makes of it: matrices
// [in, out] or [heads, in, out], vectors [n] or [heads, n]. No bytes are
// touched. Throws Error that begins with `path` for a shape that the rule's
// form cannot have, saying so where it would fit the other orientation.
Member view_of(const std::string& path, const Member& member, const TensorRule& rule,
               const Lengths& lengths);

// `n` ones under that name.
Member ones(std::string name, std::size_t n);

}  // namespace mha
