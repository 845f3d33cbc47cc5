#pragma once

#include <string>

#include "files/archive.h"
#include "files/bytes.h"

namespace mha {

// The safetensors layout: a length of 8 bytes, a JSON header of that length
// (name -> dtype, shape, data_offsets; strings in `__metadata__` become
// settings), then the tensors' bytes, which must lie side by side without a
// hole, an overlap or a byte too many. All of that is checked here; members
// are slices of `bytes`, aligned to nothing. A dtype that we cannot read is
// DType::other, and an error only for whoever reads it. Throws Error that
// names the tensor.
Archive open_safetensors(const Bytes& bytes, const std::string& path);

}  // namespace mha
