#pragma once

#include <cstddef>
#include <vector>

#include "tensor/tensor.h"

namespace mha {

// The sizes of attention. Grouped heads: query head r reads key/value head
// r / (n_heads / n_kv_heads), and n_kv_heads divides n_heads.
struct AttentionSizes {
  std::size_t d_model = 0;  // width of x and of y
  std::size_t d_key = 0;    // width of the source of K
  std::size_t d_value = 0;  // width of the source of V
  std::size_t n_heads = 0;
  std::size_t n_kv_heads = 0;
  std::size_t d_head = 0;  // of q and k
  std::size_t d_v = 0;     // of v and of a head's output

  std::size_t kv_head_of(std::size_t head) const { return head / (n_heads / n_kv_heads); }
};

// Weights of one multi-head attention (Vaswani et al. 2017, section 3.2.2) in
// row-vector convention, heads side by side: Q = x W_Q + b_Q, and the columns
// [r d_head, (r + 1) d_head) of Q are head r's. The rows [r d_v, (r + 1) d_v)
// of W_O are W_O^(r). A bias that is not there is an empty tensor.
template <typename T>
struct AttentionWeights {
  AttentionSizes sizes;
  Tensor<T> W_Q;  // [d_model, n_heads * d_head]
  Tensor<T> W_K;  // [d_key, n_kv_heads * d_head]
  Tensor<T> W_V;  // [d_value, n_kv_heads * d_v]
  Tensor<T> W_O;  // [n_heads * d_v, d_model]
  Tensor<T> b_Q;  // [n_heads * d_head]
  Tensor<T> b_K;  // [n_kv_heads * d_head]
  Tensor<T> b_V;  // [n_kv_heads * d_v]
  Tensor<T> b_O;  // [d_model]
};

// Drops the W_O blocks of these heads, so that they contribute nothing to y
// while their maps stay what they are. Throws Error for a head that is not
// there ("head 3 to ablate is not there, heads are 0 to 1").
template <typename T>
void ablate(AttentionWeights<T>& weights, const std::vector<std::size_t>& heads);

}  // namespace mha
