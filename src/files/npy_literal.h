#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace mha {

// The dictionary in the header of a .npy file.
struct NpyLiteral {
  std::string descr;        // "<f4"; of a structured dtype the list as it is written
  bool structured = false;  // descr is a list of fields
  bool fortran_order = false;
  Shape shape;
};

// Parses the part of Python's literals that numpy writes: a dictionary with
// exactly the keys descr, fortran_order and shape, in any order. `offset` is
// where `text` begins in its file. Throws Error that begins with `where` and
// names the byte: "x.npy: header, byte 58: expected …, found …".
NpyLiteral parse_npy_literal(std::string_view text, std::size_t offset,
                             const std::string& where);

}  // namespace mha
