#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/load.h"
#include "input/sequences.h"
#include "layer/encoder.h"
#include "mha_run/options.h"
#include "results/trace.h"

namespace mha {

// Everything that a run reads, opened and held against one another.
template <typename T>
struct RunInputs {
  Archive archive;  // of the weights
  OpenedModel model;
  Encoder<T> encoder;
  Sequences<T> x;
  std::optional<Sequences<T>> key, value;  // where they are others than x and key
  TracedRun run;                           // layers and axes
  Mask<T> mask;
  std::vector<std::string> query_labels, key_labels;  // empty: none

  AttentionInputs<T> tensors() const;
};

// Throws Error. Warns of masks that can hide nothing.
template <typename T>
RunInputs<T> read_inputs(const RunOptions& options);

// What was loaded and from where, a line each, for the head of a report.
template <typename T>
std::string describe(const RunInputs<T>& inputs);

}  // namespace mha
