#include "results/expected.h"

#include <algorithm>
#include <cassert>

#include "files/member_view.h"

namespace mha {

template <typename T>
ExpectedValues<T>::ExpectedValues(const Archive& archive, const Member& member)
    : shape_(member.shape), form_{member.dtype, member.big_endian} {
  const std::size_t item = size_of(member.dtype);
  if (item == 0 || !is_row_major(member)) {
    values_ = read_tensor<T>(archive, member);  // refuses what is no number
  } else {
    const Bytes bytes = member.fetch();
    const std::size_t first = member.offset * item;
    bytes_ = bytes.slice(first, bytes.size() - first);
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
