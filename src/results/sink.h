#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layer/observer.h"
#include "tensor/tensor.h"

namespace mha {

// Somebody who takes one tensor [batch, heads, rows, cols] as it is computed,
// a block of rows at a time, in the order that Observer states.
template <typename T>
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void rows(const Place& place, ConstMatrixView<T> block) = 0;
  // Whether blocks may come in any order and from several threads at once.
  virtual bool any_order() const { return false; }
};

// Row-major index of the first element of a block of `rows` x `cols` at `place`
// in a tensor of `shape`, whose last two axes are rows and columns and whose
// others hold `heads` matrices to a batch item.
// REQUIRES (asserted): the block is as wide as the tensor and lies inside it.
std::size_t offset_of(const Place& place, const Shape& shape, std::size_t heads,
                      std::size_t rows, std::size_t cols);

// An observer that hands each step to the sinks that asked for it. The sinks
// are borrowed and must outlive it.
template <typename T>
class Sinks final : public Observer<T> {
 public:
  void add(Step step, Sink<T>& sink);
  bool wants(Step step) const override;
  void rows(Step step, const Place& place, ConstMatrixView<T> block) override;
  bool any_order(Step step) const override;

 private:
  std::map<Step, std::vector<Sink<T>*>> sinks_;
};

// The sinks of every layer that runs, and of the stack as a whole.
template <typename T>
class StackSinks final : public StackObserver<T> {
 public:
  explicit StackSinks(std::size_t n_layers) : sinks_(n_layers + 1) {}
  // Of the layer at this place among those that run; their number: the stack's.
  Sinks<T>& at(std::size_t place) { return sinks_.at(place); }
  Observer<T>& layer(std::size_t place) override { return at(place); }
  Observer<T>& stack() override { return sinks_.back(); }

 private:
  std::vector<Sinks<T>> sinks_;
};

// Hands on one layer of several, so that they make one tensor with a layer axis
// in front: item i of the layer at `place` is item place * batch + i there.
template <typename T>
class FromLayer final : public Sink<T> {
 public:
  // `to` is borrowed and must outlive it.
  FromLayer(Sink<T>& to, std::size_t place, std::size_t batch)
      : to_(to), first_item_(place * batch) {}
  void rows(const Place& place, ConstMatrixView<T> block) override {
    to_.rows({first_item_ + place.item, place.head, place.first_row}, block);
  }
  bool any_order() const override { return to_.any_order(); }

 private:
  Sink<T>& to_;
  std::size_t first_item_;
};

// Keeps the whole tensor in memory.
template <typename T>
class Collect final : public Sink<T> {
 public:
  // REQUIRES: shape of rank >= 2; axes before the last two are batch and/or
  // heads, `heads` of them to an item. Throws Error(Fault::system) where it
  // does not fit in memory, saying how much `what` needs.
  Collect(Shape shape, std::size_t heads, const std::string& what);
  void rows(const Place& place, ConstMatrixView<T> block) override;
  bool any_order() const override { return true; }
  const Tensor<T>& tensor() const { return tensor_; }
  Tensor<T> take() { return std::move(tensor_); }

 private:
  Tensor<T> tensor_;
  std::size_t heads_;
};

// Passes on some heads of the maps, renumbered in the order chosen, or their
// mean (taken in double) as the single head 0.
template <typename T>
class SelectHeads final : public Sink<T> {
 public:
  // `heads` empty: all n_heads of them. Throws Error for a head that is not
  // there or named twice.
  SelectHeads(std::size_t n_heads, std::vector<std::size_t> heads, bool average);
  void add(Sink<T>& sink) { sinks_.push_back(&sink); }
  void rows(const Place& place, ConstMatrixView<T> block) override;
  bool any_order() const override;
  // How many heads come out.
  std::size_t count() const { return average_ ? 1 : chosen_; }

 private:
  void pass_on(const Place& place, ConstMatrixView<T> block);

  std::vector<std::size_t> place_of_;  // head -> its place, or kNotChosen
  std::size_t chosen_ = 0;
  bool average_ = false;
  std::size_t seen_ = 0;  // heads in sum_ so far
  Tensor<double> sum_;    // of one row range
  Tensor<T> mean_;
  std::vector<Sink<T>*> sinks_;
};

}  // namespace mha
