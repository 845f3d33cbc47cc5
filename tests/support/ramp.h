#pragma once

#include <cstddef>
#include <vector>

#include "layer/weights.h"
#include "tensor/tensor.h"

// RAMP, the small layer with easy numbers that the field's cases are told on:
// d_model 4, 2 heads of 2, three tokens. Its formulas give nn.Linear weights,
// rows are outputs; here they are turned to row-vector convention.
namespace mha::ramp {

// [in, out] from a formula of (output i, input j).
template <typename T, typename Formula>
Tensor<T> linear(std::size_t outputs, std::size_t inputs, Formula weight) {
  Tensor<T> W({inputs, outputs});
  for (std::size_t i = 0; i < outputs; ++i) {
    for (std::size_t j = 0; j < inputs; ++j) {
      W.matrix()(j, i) =
          static_cast<T>(weight(static_cast<double>(i), static_cast<double>(j)));
    }
  }
  return W;
}

template <typename T>
Tensor<T> tensor(Shape shape, const std::vector<double>& values) {
  Tensor<T> result(std::move(shape));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result.data()[i] = static_cast<T>(values.at(i));
  }
  return result;
}

template <typename T>
Tensor<T> W_Q(std::size_t outputs = 4) {
  return linear<T>(outputs, 4, [](double i, double j) { return (i - j) / 4; });
}

template <typename T>
Tensor<T> W_K(std::size_t outputs = 4) {
  return linear<T>(outputs, 4, [](double i, double j) { return (i + j) / 8; });
}

template <typename T>
Tensor<T> W_V(std::size_t outputs = 4) {
  return linear<T>(outputs, 4, [](double i, double j) { return (2 * i - j) / 8; });
}

template <typename T>
AttentionWeights<T> weights() {
  AttentionWeights<T> ramp;
  ramp.sizes = {4, 4, 4, 2, 2, 2, 2};
  ramp.W_Q = W_Q<T>();
  ramp.W_K = W_K<T>();
  ramp.W_V = W_V<T>();
  ramp.W_O = linear<T>(4, 4, [](double i, double j) {
    return i == j ? 1.0 : j == i + 1 ? 0.5 : 0.0;
  });
  ramp.b_Q = tensor<T>({4}, {.1, .2, .3, .4});
  ramp.b_K = tensor<T>({4}, {0, .1, 0, .1});
  ramp.b_V = tensor<T>({4}, {-.1, 0, .1, .2});
  ramp.b_O = tensor<T>({4}, {.01, .02, .03, .04});
  return ramp;
}

// RAMP's attention in a layer: a feed-forward of x and -x, norms that only
// normalise.
template <typename T>
Layer<T> layer() {
  Layer<T> ramp;
  ramp.attention = weights<T>();
  for (NormWeights<T>* norm : {&ramp.norm1, &ramp.norm2}) {
    norm->weight = tensor<T>({4}, {1, 1, 1, 1});
    norm->bias = tensor<T>({4}, {0, 0, 0, 0});
  }
  FeedForwardWeights<T>& ffn = ramp.feed_forward;
  ffn.W_1 = linear<T>(8, 4, [](double i, double j) {
    return i == j ? 1.0 : i == j + 4 ? -1.0 : 0.0;
  });
  ffn.b_1 = tensor<T>({8}, {0, 0, 0, 0, 0, 0, 0, 0});
  ffn.W_2 =
      linear<T>(4, 8, [](double i, double j) { return j == i || j == i + 4 ? 0.5 : 0.0; });
  ffn.b_2 = tensor<T>({4}, {0, .1, 0, -.1});
  return ramp;
}

// The three tokens, [3, 4].
inline const std::vector<double> kX = {-1, -.5, 0, .5, 1, -1, -.5, 0, .5, 1, -1, -.5};

template <typename T>
Tensor<T> x() {
  return tensor<T>({3, 4}, kX);
}

}  // namespace mha::ramp
