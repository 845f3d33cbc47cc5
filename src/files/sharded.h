#pragma once

#include <string>
#include <string_view>

#include "files/archive.h"
#include "files/bytes.h"

namespace mha {

// Hugging Face's index of a checkpoint in several files:
//   {"metadata": …, "weight_map": {"encoder.a": "model-00001-of-00002.safetensors", …}}

// Whether a file begins as a JSON object and has a weight_map that is one.
bool is_shard_index(std::string_view bytes);

// The tensors of the index, each from its shard beside it, which is opened once
// (headers only) and is a safetensors or a PyTorch file. Throws Error that
// names the shard and a tensor of it where it is missing or in another folder,
// or where the tensor is not in it. `path` is the index's. REQUIRES
// is_shard_index.
Archive open_sharded(const Bytes& bytes, const std::string& path);

}  // namespace mha
