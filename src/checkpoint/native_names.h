#pragma once

#include <string>
#include <vector>

#include "files/archive.h"

namespace mha {

// The members that make up one native tensor: the whole of it, or one a head.
struct Parts {
  std::string name;  // "W_Q"
  std::vector<const Member*> members;
  bool per_head = false;
  bool empty() const { return members.empty(); }
};

// Refuses every tensor that is not one of attention's by name: with the
// nearest known one, or as part of what is not read (whole encoder layers).
void require_known(const Archive& archive);

// Finds `name` as a whole, as heads[r].NAME or, for keys and values, as
// kv_heads[g].NAME. Empty where it is not there at all. Throws Error for a
// head without it and for a tensor that is there in two forms.
Parts find_parts(const Archive& archive, const std::string& name);

}  // namespace mha
