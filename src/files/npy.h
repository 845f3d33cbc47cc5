#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "files/archive.h"
#include "files/bytes.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace mha {

// What the header of a .npy file says (numpy.lib.format, versions 1.0 to 3.0).
struct NpyHeader {
  DType dtype = DType::other;
  std::string descr;  // as the file spells it: "<f4"
  // Bytes of an element; 0 where only a pickle knows (object, structured).
  std::size_t item_size = 0;
  bool fortran_order = false;
  bool big_endian = false;
  Shape shape;
  std::size_t data_offset = 0;
};

// Reads the header of `size` bytes whose first n, n <= size, are `first(n)`,
// and holds the shape against the size: what follows the header must be the
// elements and nothing else. Objects and structured elements are of dtype
// `other`. Throws Error that begins with `where`.
NpyHeader read_npy_header(const std::function<Bytes(std::size_t)>& first, std::size_t size,
                          const std::string& where);

// An array called `name` whose bytes `fetch` will hand out.
Member npy_member(std::string name, NpyHeader header, std::function<Bytes()> fetch);

// A bare .npy file: one member, called "".
Archive open_npy(const Bytes& bytes, const std::string& path);

// Magic, version 1.0 and header of a row-major little-endian array, padded so
// that the elements begin at a multiple of 64. REQUIRES a number type; bf16 is
// written as ml_dtypes does, '<V2'.
std::string npy_header(DType dtype, const Shape& shape);
// The same for a dtype as numpy spells it: "<U5".
std::string npy_header(const std::string& descr, const Shape& shape);

}  // namespace mha
