#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "layer/encoder.h"
#include "results/head_report.h"
#include "results/sink.h"
#include "results/traced_run.h"
#include "tensor/tensor.h"

namespace mha {

// Watches all heads of a run for a head report. Holds what enters each layer but the first,
// one item's reads and the maps of one range of rows, never all maps.
template <typename T>
class WatchHeads {
 public:
  // A run as encode() takes it. All of it must outlive the watch; the encoder's W_O changes
  // while ablation() runs, and is the same again behind it.
  struct Run {
    const TracedRun& run;
    Encoder<T>& encoder;
    const Mask<T>& mask;
    AttentionInputs<T> inputs;
    std::vector<std::uint8_t> delimiters;  // of keys; empty: not known
    std::vector<std::size_t> ablated;      // heads, in all layers
  };

  explicit WatchHeads(Run run);
  ~WatchHeads();
  WatchHeads(const WatchHeads&) = delete;
  void watch(StackSinks<T>& sinks);

  // Every head of every layer. What ablating one changes is found by a run without it from
  // its layer on; of attention alone by its contribution. Queries and keys of padding
  // (key lengths) are left out. REQUIRES: the run is over; y is what it gave.
  std::vector<HeadInRun> heads(const Tensor<T>& y);

 private:
  class Layer;
  double ablation(std::size_t place, std::size_t head, const Tensor<T>& y);
  std::size_t queries_of(std::size_t item) const;
  std::size_t keys_of(std::size_t item) const;
  double items_with_queries() const;

  Run run_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace mha
