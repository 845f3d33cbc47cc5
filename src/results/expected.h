#pragma once

#include <cstddef>

#include "files/archive.h"
#include "files/elements.h"
#include "tensor/tensor.h"

namespace mha {

// Values that a run is compared with. They stay in their file until a row of
// them is asked for, so that memory does not grow with n².
template <typename T>
class ExpectedValues {
 public:
  // Throws Error for a dtype that is no number, and what fetching throws. The
  // bytes of a deflated member, and one that is not row-major, are held whole.
  ExpectedValues(const Archive& archive, const Member& member);
  ExpectedValues(Tensor<T> values);

  const Shape& shape() const { return shape_; }
  // The same elements under another shape. REQUIRES the same count.
  void reshape(Shape shape);
  // Elements [first, first + count) in row-major order, as T.
  void read(std::size_t first, std::size_t count, T* to) const;

 private:
  Shape shape_;
  Bytes bytes_;  // row-major elements of this form, or …
  ElementForm form_{DType::other};
  Tensor<T> values_;  // these
};

}  // namespace mha
