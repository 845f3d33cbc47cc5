#pragma once

#include <cstddef>
#include <vector>

#include "layer/settings.h"
#include "support/naive.h"

// A whole encoder layer a second time, as plainly as it can be said: loops over
// double around the naive attention, nothing shared with the code under test.
namespace mha::naive {

struct Norm {
  std::vector<double> weight = {};  // [d_model]; empty: no norm
  std::vector<double> bias = {};    // [d_model]; empty: no bias
};

struct FeedForward {
  std::size_t d_ff = 0;
  bool gated = false;
  std::vector<double> W_1 = {}, W_G = {};  // [d_model, d_ff]
  std::vector<double> b_1 = {}, b_G = {};  // [d_ff]; empty: no bias
  std::vector<double> W_2 = {};            // [d_ff, d_model]
  std::vector<double> b_2 = {};            // [d_model]; empty: no bias
};

struct EncoderLayer {
  Layer attention;
  LayerSettings settings;
  Norm norm1, norm2;
  FeedForward feed_forward;
};

// All [batch, n, …], as the layer's steps; of Part::attention nothing after
// attention. y is what the layer hands on.
struct LayerSteps {
  Steps attention;
  std::vector<double> x, norm1, residual1, ffn_hidden, ffn_output, residual2, norm2, y;
};

// x [batch, n, d_model]; drop [batch, n_heads, n, n].
LayerSteps encode(const EncoderLayer& layer, std::size_t batch, std::size_t n,
                  const std::vector<double>& x, const std::vector<char>& drop);

// Each row of `width`.
std::vector<double> normalise(const Norm& norm, const LayerSettings& settings,
                              std::size_t width, const std::vector<double>& x);

}  // namespace mha::naive
