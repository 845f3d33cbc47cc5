#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/memory.h"
#include "tensor/view.h"

namespace mha {

using Shape = std::vector<std::size_t>;

// "[2, 4, 8]"
std::string to_string(const Shape& shape);

// Product of the axes (1 for a scalar). Throws Error(Fault::input) on
// overflow: "WHAT: shape [...] is too large".
std::size_t element_count(const Shape& shape, const std::string& what = "tensor");

// An owned, contiguous, row-major tensor of float or double (or uint8_t for
// masks). It moves and does not copy; an empty one has shape [0].
template <typename T>
class Tensor {
 public:
  Tensor() : shape_{0} {}
  // Uninitialised elements. Throws Error(Fault::system) without memory.
  explicit Tensor(Shape shape);
  static Tensor zeros(Shape shape);

  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.size(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return reinterpret_cast<T*>(memory_.get()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.get()); }
  std::span<T> values() { return {data(), size_}; }
  std::span<const T> values() const { return {data(), size_}; }

  // The same elements under another shape of the same size.
  void reshape(Shape shape);

  // The last two axes at `index` of all axes before them, in row-major order:
  // matrix(b * n_heads + h) of [batch, n_heads, n, d]. A rank-2 tensor has
  // one, matrix(0); a rank-1 tensor is one row.
  MatrixView<T> matrix(std::size_t index = 0);
  ConstMatrixView<T> matrix(std::size_t index = 0) const;
  // How many of them there are.
  std::size_t matrix_count() const;

 private:
  Shape shape_;
  std::size_t size_ = 0;
  AlignedBytes memory_;
};

// All its vectors under one another: [batch * n, d] of [batch, n, d].
template <typename T>
MatrixView<T> rows_of(Tensor<T>& tensor) {
  const std::size_t width = tensor.shape().back();
  return {tensor.data(), width == 0 ? 0 : tensor.size() / width, width};
}
template <typename T>
ConstMatrixView<T> rows_of(const Tensor<T>& tensor) {
  const std::size_t width = tensor.shape().back();
  return {tensor.data(), width == 0 ? 0 : tensor.size() / width, width};
}

// Row-major index of element `flat`: 5 in [2, 4] -> [1, 1].
Shape index_of(std::size_t flat, const Shape& shape);

}  // namespace mha
