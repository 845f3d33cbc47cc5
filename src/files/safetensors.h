#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/archive.h"
#include "files/bytes.h"

namespace mha {

// The safetensors layout: a length of 8 bytes, a JSON header of that length
// (name -> dtype, shape, data_offsets; strings in `__metadata__` become
// settings, those that are JSON of a list of strings lists), then the tensors' bytes, which
// must lie side by side without a hole, an overlap or a byte too many. All of that is checked
// here; members are slices of `bytes`, aligned to nothing. A dtype that we cannot read is
// DType::other, and an error only for whoever reads it. Throws Error that
// names the tensor.
Archive open_safetensors(const Bytes& bytes, const std::string& path);

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;  // or f64
  Shape shape;
};

// What stands in front of the tensors' bytes, which follow side by side in the
// same order; padded so that they begin at a multiple of 8.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata);

}  // namespace mha
