#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/archive.h"
#include "layer/mask.h"
#include "tensor/tensor.h"

namespace mha {

// Vectors for a run: [n, d] or [batch, n, d], and the tokens' labels where the
// file has them (empty otherwise): n for all items, or batch * n.
template <typename T>
struct Sequences {
  std::string where;  // "x.npz: x"
  std::string form;   // "npy f32", "JSON", for the report
  Tensor<T> values;
  std::vector<std::string> labels;
};

// A file and perhaps one tensor of it: "x.npy", "file.npz:name", "-". A path
// that exists as it stands wins over the split at the last colon.
struct Source {
  std::string path;
  std::string member;  // "" where none was named
};
Source parse_source(const std::string& spec);

// One tensor of a source: the named member; else the only one; else the one
// called `usual` ("x", "y", "maps"). Throws Error that lists what there is.
struct OpenedTensor {
  Archive archive;
  const Member* member;  // of archive.members, whose heap block moves along
};
OpenedTensor open_tensor(const std::string& spec, const std::string& usual);

// Throws Error for a rank other than 2 or 3, for no tokens, for labels that are
// not as many as the tokens, and for what is not finite (unless allowed).
template <typename T>
Sequences<T> read_sequences(const std::string& spec, bool allow_nonfinite);

// A 0/1 or boolean mask, 1 where it hides: `keep` files are turned over.
// Throws Error for any other value, naming the element.
BroadcastMask<std::uint8_t> read_drop_mask(const std::string& spec, bool keep,
                                           const MaskAxes& axes);

// Floats; -Inf is welcome, NaN and +Inf are errors. `doubtful` is set where
// the mask can hide nothing: only 0 and 1, or all within 0.001 of 0 (the
// sentence to warn with, else "").
template <typename T>
BroadcastMask<T> read_add_mask(const std::string& spec, const MaskAxes& axes,
                               std::string& doubtful);

}  // namespace mha
