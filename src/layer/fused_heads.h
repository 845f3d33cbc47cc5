#pragma once

#include <cstddef>

#include "layer/attention.h"
#include "layer/head_inputs.h"
#include "tensor/tensor.h"

namespace mha {

// Attention of f32 heads by the fused kernels (kernels/fused_attend.h), over all
// threads: scores of a block of rows stay in the cache, or become the map where
// somebody wants maps.
class FusedHeads {
 public:
  // Whether they do what is asked: no columns behind the keys.
  static bool serve(const AttentionSizes& sizes);
  // Elements that one holds, with scores or maps to show.
  static std::size_t size_of(const AttentionSizes& sizes, const MaskAxes& axes, bool scores,
                             bool maps);

  // All of them must outlive it; `bias` is bias_by_distance() or empty.
  FusedHeads(const AttentionSizes& sizes, const AttentionSettings& settings,
             const Mask<float>& mask, const MaskAxes& axes, const Tensor<float>& bias,
             Observer<float>& observer);

  // What the heads read, into inputs.concat(), of `count` items from the begin-th on of
  // those that `inputs` holds, the batch's from `first` on. REQUIRES: no score overflows
  // (scores_are_bounded()).
  AttentionFindings items(std::size_t first, std::size_t begin, std::size_t count,
                          HeadInputs<float>& inputs);

 private:
  struct Task;
  struct Part;
  void pack(const Part& part, const HeadInputs<float>& inputs);
  void attend(const Part& part, HeadInputs<float>& inputs, AttentionFindings& findings);
  AttentionFindings run(const Task& task);

  const AttentionSizes& sizes_;
  const AttentionSettings& settings_;
  const Mask<float>& mask_;
  const MaskAxes axes_;
  const Tensor<float>& bias_;
  Observer<float>& observer_;
  const bool scores_;  // somebody looks at them
  const bool maps_;    // likewise
  std::size_t block_rows_;
  std::size_t keys_size_;  // of one packed head
  std::size_t values_size_;
  Tensor<float> packed_;   // [packed heads at a time, keys_size + values_size]
  Tensor<float> scratch_;  // [threads, scratch_size()]
};

// Whether q k and q k scale stay within f32 for all rows, by the lengths of their
// vectors; not where one is not finite.
bool scores_are_bounded(ConstMatrixView<float> q, ConstMatrixView<float> k, double scale);

}  // namespace mha
