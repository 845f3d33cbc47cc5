#pragma once

#include <cstddef>
#include <string>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace mha {

// How the elements of a file lie in its bytes.
struct ElementForm {
  DType dtype;
  bool big_endian = false;
};

// `count` elements, the first at `from` (aligned or not), each `step` elements
// after the one before, as T. REQUIRES a number type.
template <typename T>
void copy_elements(const std::byte* from, std::size_t step, std::size_t count,
                   ElementForm form, T* to);

// A tensor whose neighbours along each axis lie `strides` elements apart, the
// first element at `from`, as T in row-major order. What is side by side is one
// call of copy_elements; a transposed matrix is read a few lines at a time.
// REQUIRES a number type, a stride for each axis, no axis of length 0.
template <typename T>
void copy_strided(const std::byte* from, const Shape& shape, const Shape& strides,
                  ElementForm form, T* to);

// One number as text: "true", "12", "0.5" (the shortest that reads back as the
// same bits). REQUIRES a number type.
std::string element_text(const std::byte* from, ElementForm form);

// A fixed-width string of numpy without its padding: UCS-4 code points
// (`<U5`, `wide`) as UTF-8, or bytes (`|S5`). Throws Error that begins with
// `where` for what is no Unicode.
std::string fixed_text(const std::byte* from, std::size_t bytes, bool wide, bool big_endian,
                       const std::string& where);

}  // namespace mha
