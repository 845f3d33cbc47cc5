#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "layer/attention.h"
#include "layer/observer.h"

namespace mha {

// An observer that keeps every step of a run whole, [batch, step's own axes],
// and the order in which the blocks came.
template <typename T>
class Recorder final : public Observer<T> {
 public:
  struct Block {
    Step step;
    Place place;
    std::size_t rows;
  };

  // Of attention alone.
  Recorder(const AttentionSizes& sizes, const MaskAxes& axes)
      : Recorder(steps_of({.part = Part::attention}), {sizes}, axes) {}

  Recorder(const std::vector<Step>& steps, const LayerSizes& sizes, const MaskAxes& axes)
      : batch_(axes.batch) {
    for (const Step step : steps) {
      Shape shape = shape_of(step, sizes, axes.n_queries, axes.n_keys);
      shape.insert(shape.begin(), axes.batch);
      steps_.emplace(step, Tensor<T>::zeros(std::move(shape)));
    }
  }

  // Without a set of steps everything is wanted.
  void only(std::set<Step> steps) { only_ = std::move(steps); }
  bool wants(Step step) const override { return only_.empty() || only_.count(step) == 1; }

  void rows(Step step, const Place& place, ConstMatrixView<T> block) override {
    blocks.push_back({step, place, block.rows});
    Tensor<T>& tensor = steps_.at(step);
    const std::size_t heads = tensor.matrix_count() / batch_;
    const MatrixView<T> whole = tensor.matrix(place.item * heads + place.head);
    for (std::size_t i = 0; i < block.rows; ++i) {
      for (std::size_t j = 0; j < block.cols; ++j) {
        whole(place.first_row + i, j) = block(i, j);
      }
    }
  }

  const Tensor<T>& at(Step step) const { return steps_.at(step); }
  std::vector<Block> blocks;

 private:
  std::size_t batch_;
  std::set<Step> only_;
  std::map<Step, Tensor<T>> steps_;
};

// One run with everything watched.
template <typename T>
struct Watched {
  Tensor<T> y;
  Recorder<T> steps;
  AttentionFindings findings;
};

template <typename T>
Watched<T> watch(const AttentionWeights<T>& weights, const AttentionSettings& settings,
                 const Mask<T>& mask, const AttentionInputs<T>& inputs) {
  Recorder<T> steps(weights.sizes, check_inputs(weights.sizes, inputs));
  AttentionFindings findings;
  Tensor<T> y = attention(weights, settings, mask, inputs, steps, findings);
  return {std::move(y), std::move(steps), findings};
}

}  // namespace mha
