#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "heads/distances.h"
#include "heads/measures.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace mha {

// The measures of several heads, and how far they are from each other.
class MeasureHeads {
 public:
  explicit MeasureHeads(std::size_t n_heads) : heads_(n_heads), distances_(n_heads) {}

  // The same rows of all heads' maps, as MeasureHead::rows() wants them; on all threads.
  template <typename T>
  void rows(std::ptrdiff_t first_position, std::span<const ConstMatrixView<T>> blocks,
            const MapColumns& columns);

  HeadMeasures measures(std::size_t head) const { return heads_.at(head).measures(); }
  Tensor<double> distances() const { return distances_.distances(); }

 private:
  std::vector<MeasureHead> heads_;
  HeadDistances distances_;
};

}  // namespace mha
