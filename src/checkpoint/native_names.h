#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/archive.h"

namespace mha {

// The members that make up one native tensor: the whole of it, or one a head.
struct Parts {
  std::string name;  // with its layer: "layers.2.W_Q"
  std::vector<const Member*> members;
  bool per_head = false;
};

// The tensors of one layer, or of the stack around its layers.
struct LayerParts {
  std::string prefix;                    // as the file spells it: "layers.2.", "layers[2]."
  std::map<std::string, Parts> tensors;  // by name without prefix
  const Parts* find(const std::string& name) const;
};

struct NativeParts {
  bool stack = false;
  std::vector<LayerParts> layers;  // one where there is no stack
  LayerParts around;               // of a stack: norm.weight, norm.bias, relative_bias
};

// The names a layer's tensors may have, in the order of the contract.
const std::vector<std::string>& native_tensor_names();

// What stands in front of the layers, of a stack and of a lone one:
// embeddings.words, …
const std::vector<std::string>& native_embeddings();

// Sorts members by layer, tensor and head. Names are
//   W_Q, heads[r].W_Q, kv_heads[g].W_K     of a lone layer
//   layers.K.W_Q, layers[K].heads[r].W_Q   of a stack, K from 0 without gaps
// Embeddings, and a list of strings `vocabulary`, are left aside: they are
// checkpoint/embeddings'. Throws Error for a name that is not known, with the nearest known
// one; for a head without a tensor that others have; for a tensor that is there in two forms;
// for names of a lone layer beside those of a stack.
NativeParts find_native(const Archive& archive);

}  // namespace mha
