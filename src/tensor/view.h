#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

namespace mha {

// A borrowed row-major matrix [rows, cols]; rows lie `stride` elements apart
// (stride >= cols), the elements of a row side by side. The memory behind it
// must outlive it.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, std::size_t rows_, std::size_t cols_, std::size_t stride_)
      : data(data_), rows(rows_), cols(cols_), stride(stride_) {
    assert(stride >= cols);
  }
  MatrixView(T* data_, std::size_t rows_, std::size_t cols_)
      : MatrixView(data_, rows_, cols_, cols_) {}

  // A mutable view serves where a constant one is asked for.
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }

  bool empty() const { return rows == 0 || cols == 0; }
  T* row(std::size_t i) const { return data + i * stride; }
  T& operator()(std::size_t i, std::size_t j) const { return data[i * stride + j]; }

  // Rows [first, first + count).
  MatrixView row_block(std::size_t first, std::size_t count) const {
    assert(first + count <= rows);
    return {data + first * stride, count, cols, stride};
  }
  // Columns [first, first + count).
  MatrixView col_block(std::size_t first, std::size_t count) const {
    assert(first + count <= cols);
    return {data + first, rows, count, stride};
  }
};

template <typename T>
using ConstMatrixView = MatrixView<const T>;

}  // namespace mha
