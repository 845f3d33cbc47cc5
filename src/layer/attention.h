#pragma once

#include <cstddef>
#include <string>

#include "layer/mask.h"
#include "layer/observer.h"
#include "layer/settings.h"
#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// What a run read, each [n, d] or [batch, n, d] of one rank and batch. Self
// attention names the same tensor three times.
template <typename T>
struct AttentionInputs {
  const Tensor<T>& x;      // [batch, n_queries, d_model]
  const Tensor<T>& key;    // [batch, n_keys, d_key]
  const Tensor<T>& value;  // [batch, n_keys, d_value]
};

// What was noticed on the way, for a warning.
struct AttentionFindings {
  std::size_t empty_rows = 0;  // query rows with no key left, over all heads
  // Keys that an additive mask of -1000 or less was meant to hide and that
  // still have weight, over all heads and queries.
  std::size_t leaking_keys = 0;
};

// What messages call the inputs.
struct InputNames {
  std::string x = "input";
  std::string key = "key";
  std::string value = "value";
};

// Sizes a run has beside the weights': the four axes of its masks.
// Throws Error where ranks, batches or widths do not fit: "x.csv: rows are 5
// wide, expected 4 (d_model)". Latent attention wants key and value to be the
// same tensor.
template <typename T>
MaskAxes check_inputs(const AttentionSizes& sizes, const AttentionInputs<T>& inputs,
                      const InputNames& names = {});

// Multi-head attention (Vaswani et al. 2017, section 3.2): for each head r
//   S_r = cap(Q_r K_r^T scale) + relative bias + masks,
//   A_r = softmax(S_r),  O_r = A_r V_r  (settings.early_fusion: O_r = mean(A_1 … A_h) V_r)
// and y = Concat(O_1 … O_h) W_O + b_O, in the shape of x. Q and K are turned
// where there are rotary positions. A learned and a zero key behind the keys
// of the input are not turned, have no position and no mask hides them. A query
// with no key left has a map row of zeros and reads zeros. Shows the steps from
// q to attention_output. Holds q, k, v (and their latents) and the concatenated
// reads of one item (of a few, where they are short) and one block of score rows,
// never n_queries x n_keys.
// REQUIRES: weights whose shapes fit weights.sizes; masks made for these axes;
// an even d_head (latent: d_rope) with rotary positions; of relative_bias what
// relative_bucket() requires; no bias_key with latents. Finite weights and
// inputs, unless settings.allow_nonfinite.
// Throws Overflow where a step overflows T, unless settings.allow_nonfinite,
// and what check_inputs() throws.
template <typename T>
Tensor<T> attention(const AttentionWeights<T>& weights, const AttentionSettings& settings,
                    const Mask<T>& mask, const AttentionInputs<T>& inputs,
                    Observer<T>& observer, AttentionFindings& findings);

// Rows of scores that attention() computes at a time.
std::size_t score_block_rows(std::size_t n_queries, std::size_t n_keys,
                             std::size_t element_size);

}  // namespace mha
