#pragma once

#include <random>
#include <vector>

#include "layer/encoder.h"
#include "support/naive_layer.h"
#include "support/recorder.h"

// A stack of layers with its input: told once for the naive reference, turned
// into what encode() takes.
namespace mha {

struct Stack {
  std::vector<naive::EncoderLayer> layers;
  naive::Norm norm;
  std::size_t batch = 1, n = 1;
  std::vector<double> x;   // [batch, n, d_model]
  std::vector<char> drop;  // [batch, n, n], of every head; empty: nothing
};

struct StackSizes {
  std::size_t batch = 1, n = 5, d_model = 8, n_heads = 2, d_head = 4, d_ff = 12;
  bool biases = true;
};

// A layer and an input of numbers that are exact in f32 and keep the steps near 1.
naive::EncoderLayer random_layer(const StackSizes& sizes, const LayerSettings& settings,
                                 bool gated, std::mt19937& random);
naive::Norm random_norm(const StackSizes& sizes, std::mt19937& random);
std::vector<double> random_x(const StackSizes& sizes, std::mt19937& random);

template <typename T>
Layer<T> layer_of(const naive::EncoderLayer& layer);
template <typename T>
Encoder<T> encoder_of(const Stack& stack);

// Every step of every layer of a stack, and what the stack adds.
template <typename T>
class StackRecorder final : public StackObserver<T> {
 public:
  StackRecorder(const Encoder<T>& encoder, const MaskAxes& axes);
  Recorder<T>& layer(std::size_t place) override { return layers_.at(place); }
  Recorder<T>& stack() override { return stack_; }

 private:
  std::vector<Recorder<T>> layers_;
  Recorder<T> stack_;
};

// One run with everything watched.
template <typename T>
struct WatchedStack {
  Tensor<T> y;
  StackRecorder<T> steps;
  AttentionFindings findings;
};

template <typename T>
WatchedStack<T> watch(const Encoder<T>& encoder, const Mask<T>& mask, const Tensor<T>& x);

// Runs encode() on it and compares every step of every layer, and y, with the
// reference; maps and others within these parts of the largest number of a step.
template <typename T>
void check_against_reference(const Stack& stack, double tolerance);

}  // namespace mha
