#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "results/sink.h"
#include "tensor/tensor.h"

// What tests of sinks share.
namespace mha {

template <typename T>
Tensor<T> tensor_of(Shape shape, std::initializer_list<double> values) {
  Tensor<T> tensor(std::move(shape));
  std::transform(values.begin(), values.end(), tensor.data(),
                 [](double value) { return static_cast<T>(value); });
  return tensor;
}

// 0, 1, 2, … in the order of memory, so that a value out of place shows.
template <typename T>
Tensor<T> counted(Shape shape) {
  Tensor<T> tensor(std::move(shape));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<T>(i);
  return tensor;
}

// Shows a tensor to a sink as the layer does: items one after another, blocks
// of rows, every head of one row range before the next. The rows of a block
// lie `padding` elements further apart than they are long.
template <typename T>
void feed(Sink<T>& sink, const Tensor<T>& tensor, std::size_t heads, std::size_t block_rows,
          std::size_t padding = 0) {
  const ConstMatrixView<T> first_matrix = tensor.matrix();
  const std::size_t n_rows = first_matrix.rows;
  Tensor<T> wide({block_rows, first_matrix.cols + padding});
  for (std::size_t item = 0; item < tensor.matrix_count() / heads; ++item) {
    for (std::size_t first = 0; first < n_rows; first += block_rows) {
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t count = std::min(block_rows, n_rows - first);
        const auto rows = tensor.matrix(item * heads + head).row_block(first, count);
        const auto block = wide.matrix().row_block(0, count).col_block(0, rows.cols);
        for (std::size_t i = 0; i < count; ++i) {
          std::copy_n(rows.row(i), rows.cols, block.row(i));
        }
        sink.rows({item, head, first}, block);
      }
    }
  }
}

template <typename T>
bool same(const Tensor<T>& a, const Tensor<T>& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.values(), b.values());
}

}  // namespace mha
