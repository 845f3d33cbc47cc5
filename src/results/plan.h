#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layer/attention.h"

namespace mha {

// One step of the work.
struct PlannedStep {
  std::string name;    // "q = x W_Q + b_Q"
  std::string shapes;  // "[4, 8] x [8, 8] -> [4, 8]", with the batch axis where it is not 1
  double flops = 0.0;  // multiply and add count as two
  double bytes = 0.0;  // of what the step makes; scores and maps: of the whole matrices
};

// Steps of attention for one run, in order.
std::vector<PlannedStep> plan_of(const AttentionSizes& sizes, const MaskAxes& axes,
                                 std::size_t element_size);

// A table with totals, the memory that the run holds at a time (a block of
// score rows, never the whole matrices), and the line that the cost of the n²
// part is 4 n_queries n_keys n_heads d_head: n² d_model, whatever n_heads.
std::string describe(const std::vector<PlannedStep>& plan, const AttentionSizes& sizes,
                     const MaskAxes& axes, std::size_t element_size);

}  // namespace mha
