#include "layer/weights.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace mha {

template <typename T>
void ablate(AttentionWeights<T>& weights, const std::vector<std::size_t>& heads) {
  const AttentionSizes& sizes = weights.sizes;
  for (const std::size_t head : heads) {
    if (head >= sizes.n_heads) {
      throw Error("head " + std::to_string(head) + " to ablate is not there, heads are 0 to " +
                  std::to_string(sizes.n_heads - 1));
    }
    const MatrixView<T> block = weights.W_O.matrix().row_block(head * sizes.d_v, sizes.d_v);
    std::fill_n(block.data, block.rows * block.cols, T{0});
  }
}

template void ablate<float>(AttentionWeights<float>&, const std::vector<std::size_t>&);
template void ablate<double>(AttentionWeights<double>&, const std::vector<std::size_t>&);

}  // namespace mha
