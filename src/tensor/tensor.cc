#include "tensor/tensor.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/error.h"

namespace mha {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

std::size_t element_count(const Shape& shape, const std::string& what) {
  std::size_t count = 1;
  for (const std::size_t axis : shape) {
    const auto product = checked_multiply(count, axis);
    if (!product) throw Error(what + ": shape " + to_string(shape) + " is too large");
    count = *product;
  }
  return count;
}

Shape index_of(std::size_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

template <typename T>
Tensor<T>::Tensor(Shape shape) : shape_(std::move(shape)), size_(element_count(shape_)) {
  const auto bytes = checked_multiply(size_, sizeof(T));
  if (!bytes) throw Error("tensor: shape " + to_string(shape_) + " is too large");
  if (size_ > 0) memory_ = allocate_aligned(*bytes);
}

template <typename T>
Tensor<T> Tensor<T>::zeros(Shape shape) {
  Tensor tensor(std::move(shape));
  std::fill_n(tensor.data(), tensor.size(), T{});
  return tensor;
}

template <typename T>
void Tensor<T>::reshape(Shape shape) {
  if (element_count(shape) != size_) {
    throw Error("tensor: " + to_string(shape_) + " does not fit " + to_string(shape));
  }
  shape_ = std::move(shape);
}

template <typename T>
std::size_t Tensor<T>::matrix_count() const {
  std::size_t count = 1;
  for (std::size_t axis = 0; axis + 2 < shape_.size(); ++axis) count *= shape_[axis];
  return count;
}

template <typename T>
MatrixView<T> Tensor<T>::matrix(std::size_t index) {
  const std::size_t cols = shape_.empty() ? 1 : shape_.back();
  const std::size_t rows = shape_.size() < 2 ? 1 : shape_[shape_.size() - 2];
  assert(index < matrix_count());
  return {data() + index * rows * cols, rows, cols};
}

template <typename T>
ConstMatrixView<T> Tensor<T>::matrix(std::size_t index) const {
  return const_cast<Tensor*>(this)->matrix(index);
}

template class Tensor<float>;
template class Tensor<double>;
template class Tensor<std::uint8_t>;

}  // namespace mha
