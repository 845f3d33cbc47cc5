#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layer/mask.h"
#include "layer/observer.h"
#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// One layer of a run, without its weights.
struct TracedLayer {
  std::size_t index = 0;  // in its checkpoint
  LayerSizes sizes;
  LayerSettings settings{};
};

// A step of a run: of the layer at `place` among those that run or, where
// `place` is their number, of the stack as a whole.
struct RunStep {
  std::size_t place = 0;
  Step step = Step::x;
  auto operator<=>(const RunStep&) const = default;
};

// The run that a trace is of: which steps it has, their names and shapes.
struct TracedRun {
  std::vector<TracedLayer> layers;
  MaskAxes axes;
  bool batched = false;    // x had a batch axis
  bool last_norm = false;  // runs after the layers

  // Whether steps belong to a layer by name: layers.K.q.
  bool is_stack() const { return layers.size() > 1 || last_norm; }
  // In order of computation.
  std::vector<RunStep> steps() const;
  std::string name_of(const RunStep& step) const;
  // Shape of a step as a trace holds it.
  Shape shape_of(const RunStep& step) const;
  // Matrices of a step to a batch item.
  std::size_t heads_of(const RunStep& step) const;
  // The shape of something made for one item, behind a batch axis where x had one.
  Shape with_batch(Shape item_shape) const;
  // Of `n_maps` maps a layer: behind a layer axis where several ran.
  Shape maps_shape(std::size_t n_maps) const;
};

// The steps of these names, in order of computation; of no names, all. Throws
// Error that begins with `where` and names the nearest step.
std::vector<RunStep> steps_named(const std::vector<std::string>& names, const TracedRun& run,
                                 const std::string& where);

}  // namespace mha
