#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/archive.h"
#include "tensor/tensor.h"

namespace mha {

// A tensor of a layer as the layer takes it (layer/weights.h), found and
// checked but not read. Its pieces are views of the file, of more axes where
// heads have one of their own: each is a matrix with the heads side by side.
struct FoundTensor {
  Shape shape;                 // [rows, cols], or [n]
  std::vector<Member> pieces;  // one, or one a head
  bool below = false;          // the pieces stand below each other (W_O), else side by side
};

// By native name: "W_Q", "norm1.weight".
using FoundTensors = std::map<std::string, FoundTensor>;

// The tensor of `file` that a piece is a view of, or null.
const Member* whole_of(const Archive& file, const Member& piece);

// Reads the pieces into place. Throws Error for elements that are not finite,
// unless allowed, that names the tensor and the index as `file` does, which the
// pieces are views of.
template <typename T>
Tensor<T> read_found(const Archive& file, const FoundTensor& found, bool allow_nonfinite);

}  // namespace mha
