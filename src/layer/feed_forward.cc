#include "layer/feed_forward.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"
#include "layer/projection.h"

namespace mha {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
// Fewer rows than these read the weights too often, more make no GEMM faster.
constexpr std::size_t kFewestBlockRows = 16;
constexpr std::size_t kMostBlockRows = 512;

Epilogue epilogue_of(Activation activation) {
  switch (activation) {
    case Activation::relu: return Epilogue::relu;
    case Activation::gelu: return Epilogue::gelu;
    case Activation::gelu_tanh: return Epilogue::gelu_tanh;
    case Activation::quick_gelu: return Epilogue::quick_gelu;
    case Activation::silu: break;
  }
  return Epilogue::silu;
}

}  // namespace

template <typename T>
void fill_hidden(const FeedForwardWeights<T>& weights, Activation activation,
                 ConstMatrixView<T> x, MatrixView<T> gate, MatrixView<T> hidden) {
  const Epilogue epilogue = epilogue_of(activation);
  if (weights.W_G.empty()) {
    project(x, weights.W_1, weights.b_1, hidden, epilogue);
    return;
  }
  assert(gate.rows == hidden.rows && gate.cols == hidden.cols);
  project(x, weights.W_1, weights.b_1, hidden);
  project(x, weights.W_G, weights.b_G, gate, epilogue);
  parallel_ranges(hidden.rows, hidden.cols * kFlopsOfReading,
                  [&](std::size_t first, std::size_t end) {
                    for (std::size_t i = first; i < end; ++i) {
                      for (std::size_t j = 0; j < hidden.cols; ++j) hidden(i, j) *= gate(i, j);
                    }
                  });
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
