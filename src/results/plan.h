#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/traced_run.h"

namespace mha {

// One step of the work.
struct PlannedStep {
  std::string name;    // "q = x W_Q + b_Q"
  std::string shapes;  // "[4, 8] x [8, 8] -> [4, 8]", with the batch axis where it is not 1
  double flops = 0.0;  // multiply and add count as two
  double bytes = 0.0;  // of what the step makes; scores and maps: of the whole matrices
  bool operator==(const PlannedStep&) const = default;
};

// Steps of one layer of a run, in order.
std::vector<PlannedStep> plan_of(const TracedLayer& layer, const MaskAxes& axes,
                                 std::size_t element_size);

// A table of a layer (of a stack: one for each kind of layer) with totals, the
// memory that the run holds at a time (a block of score rows, never the whole
// matrices), and the line that the cost of the n² part is 4 n_queries n_keys
// n_heads d_head: n² d_model, whatever n_heads.
std::string describe_plan(const TracedRun& run, std::size_t element_size);

}  // namespace mha
