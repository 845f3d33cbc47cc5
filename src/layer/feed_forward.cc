#include "layer/feed_forward.h"

#include <algorithm>
#include <cassert>

#include "kernels/activation.h"
#include "layer/projection.h"

namespace mha {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
// Fewer rows than these read the weights too often, more make no GEMM faster.
constexpr std::size_t kFewestBlockRows = 16;
constexpr std::size_t kMostBlockRows = 512;

template <typename T>
void activate(Activation activation, MatrixView<T> values) {
  switch (activation) {
    case Activation::relu: return relu(values);
    case Activation::gelu: return gelu(values);
    case Activation::gelu_tanh: return gelu_tanh(values);
    case Activation::quick_gelu: return quick_gelu(values);
    case Activation::silu: return silu(values);
  }
}

}  // namespace

template <typename T>
void fill_hidden(const FeedForwardWeights<T>& weights, Activation activation,
                 ConstMatrixView<T> x, MatrixView<T> gate, MatrixView<T> hidden) {
  project(x, weights.W_1, weights.b_1, hidden);
  if (weights.W_G.empty()) {
    activate(activation, hidden);
    return;
  }
  assert(gate.rows == hidden.rows && gate.cols == hidden.cols);
  project(x, weights.W_G, weights.b_G, gate);
  activate(activation, gate);
  for (std::size_t i = 0; i < hidden.rows; ++i) {
    for (std::size_t j = 0; j < hidden.cols; ++j) hidden(i, j) *= gate(i, j);
  }
}

std::size_t hidden_block_rows(std::size_t n_rows, std::size_t d_ff, std::size_t element_size) {
  const std::size_t row_bytes = std::max<std::size_t>(d_ff * element_size, 1);
  const std::size_t rows =
      std::clamp(kBlockBytes / row_bytes, kFewestBlockRows, kMostBlockRows);
  return std::min(rows, n_rows);
}

template void fill_hidden(const FeedForwardWeights<float>&, Activation, ConstMatrixView<float>,
                          MatrixView<float>, MatrixView<float>);
template void fill_hidden(const FeedForwardWeights<double>&, Activation,
                          ConstMatrixView<double>, MatrixView<double>, MatrixView<double>);

}  // namespace mha
