#pragma once

#include <string>
#include <vector>

#include "mha_run/inputs.h"
#include "tensor/tensor.h"

namespace mha {

// The maps of a run, [n_heads, n_q, n_k] with a batch and layers in front where the run has
// them, drawn for standard output: an item of the batch after the other.
template <typename T>
std::string draw_maps(const Tensor<T>& maps, const std::vector<std::string>& heads,
                      const RunInputs<T>& inputs);

}  // namespace mha
