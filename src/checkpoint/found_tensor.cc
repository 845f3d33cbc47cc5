#include "checkpoint/found_tensor.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace mha {
namespace {

// Names the element as the file's own tensor has it: a view may be turned.
template <typename T>
void require_finite_piece(const Archive& file, const Member& piece, const Tensor<T>& values) {
  const bool finite = std::all_of(values.values().begin(), values.values().end(),
                                  [](T value) { return std::isfinite(value); });
  if (finite) return;
  const Member* whole = whole_of(file, piece);
  if (whole != nullptr) require_finite(read_tensor<T>(file, *whole), where(file, *whole));
  require_finite(values, where(file, piece));
}

}  // namespace

const Member* whole_of(const Archive& file, const Member& piece) {
  const std::string& name = piece.origin.empty() ? piece.name : piece.origin;
  for (const Member& member : file.members) {
    if (member.name == name || member.origin == name) return &member;
  }
  return nullptr;
}

template <typename T>
Tensor<T> read_found(const Archive& file, const FoundTensor& found, bool allow_nonfinite) {
  const auto read = [&](const Member& piece) {
    Tensor<T> values = read_tensor<T>(file, piece);
    if (!allow_nonfinite) require_finite_piece(file, piece, values);
    return values;
  };
  if (found.pieces.size() == 1) {
    Tensor<T> whole = read(found.pieces[0]);
    whole.reshape(found.shape);
    return whole;
  }
  Tensor<T> whole(found.shape);
  std::size_t done = 0;  // elements of pieces that stand below each other, else columns
  for (const Member& piece : found.pieces) {
    const Tensor<T> part = read(piece);
    if (found.below) {
      std::copy_n(part.data(), part.size(), whole.data() + done);
      done += part.size();
      continue;
    }
    const ConstMatrixView<T> from = part.matrix();
    const MatrixView<T> to = whole.matrix().col_block(done, from.cols);
    for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
    done += from.cols;
  }
  return whole;
}

template Tensor<float> read_found(const Archive&, const FoundTensor&, bool);
template Tensor<double> read_found(const Archive&, const FoundTensor&, bool);

}  // namespace mha
