#include "results/expected.h"

#include <algorithm>
#include <cassert>

namespace mha {

template <typename T>
ExpectedValues<T>::ExpectedValues(const Archive& archive, const Member& member)
    : shape_(member.shape), form_{member.dtype, member.big_endian} {
  const bool column_major = member.fortran_order && member.shape.size() > 1;
  if (column_major || size_of(member.dtype) == 0) {
    values_ = read_tensor<T>(archive, member);  // refuses what is no number
  } else {
    bytes_ = member.fetch();
  }
}

template <typename T>
ExpectedValues<T>::ExpectedValues(Tensor<T> values)
    : shape_(values.shape()), values_(std::move(values)) {}

template <typename T>
void ExpectedValues<T>::reshape(Shape shape) {
  assert(element_count(shape) == element_count(shape_));
  shape_ = std::move(shape);
}

template <typename T>
void ExpectedValues<T>::read(std::size_t first, std::size_t count, T* to) const {
  if (!values_.empty()) {
    std::copy_n(values_.data() + first, count, to);
  } else if (count > 0) {
    copy_elements(bytes_.data() + first * size_of(form_.dtype), 1, count, form_, to);
  }
}

template class ExpectedValues<float>;
template class ExpectedValues<double>;

}  // namespace mha
