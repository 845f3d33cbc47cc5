#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/view.h"

namespace mha {

// The Jensen-Shannon divergence of each two heads' maps, in nats, 0 to ln 2:
//   JS(p, q) = KL(p | m) / 2 + KL(q | m) / 2 = H(m) - (H(p) + H(q)) / 2,  m = (p + q) / 2,
// the mean over the rows that see a key in both (Clark et al. 2019, section 6, where it is
// the sum). Adds up rows in blocks, over any number of sequences.
class HeadDistances {
 public:
  // Throws Error(Fault::system) where the pairs of so many heads do not fit in memory.
  explicit HeadDistances(std::size_t n_heads);

  // The same rows of all heads' maps, [rows, n_keys] each; on all threads.
  template <typename T>
  void rows(std::span<const ConstMatrixView<T>> heads);

  // [n_heads, n_heads], 0 from each head to itself; NaN for two that no row can compare.
  Tensor<double> distances() const;

 private:
  std::size_t n_heads_;
  // Of each two heads i > j, at i (i - 1) / 2 + j.
  std::vector<double> sums_;
  std::vector<std::size_t> rows_;
};

// The head nearest to `head`, not itself: the first of equals. REQUIRES another head at a
// distance that is a number, else the result is `head`.
std::size_t nearest_head(ConstMatrixView<double> distances, std::size_t head);

// Groups of heads in which no two are further apart than `most`: the two groups whose
// furthest heads are nearest become one until none are (complete linkage). The number of
// each head's group, counted from 0 in the order of their first heads.
std::vector<std::size_t> groups_of_like(ConstMatrixView<double> distances, double most);

}  // namespace mha
