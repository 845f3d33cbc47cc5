#include "layer/feed_forward.h"

#include "catch.h"
#include "support/ramp.h"

namespace mha {
namespace {

// d_model 1, d_ff 1: hidden of x = 1.
double hidden_of(double W_1, double b_1, double W_G, double b_G, bool gated) {
  FeedForwardWeights<double> weights;
  weights.W_1 = ramp::tensor<double>({1, 1}, {W_1});
  weights.b_1 = ramp::tensor<double>({1}, {b_1});
  if (gated) weights.W_G = ramp::tensor<double>({1, 1}, {W_G});
  if (gated) weights.b_G = ramp::tensor<double>({1}, {b_G});
  const auto x = ramp::tensor<double>({1, 1}, {1});
  auto gate = Tensor<double>::zeros({gated ? std::size_t{1} : 0, 1});
  auto hidden = Tensor<double>::zeros({1, 1});
  fill_hidden<double>(weights, Activation::relu, x.matrix(), gate.matrix(), hidden.matrix());
  return hidden.data()[0];
}

}  // namespace

TEST_CASE("the gate is activated, and what it gates is not") {
  CHECK(hidden_of(3, 4, 0, 0, false) == 7.0);
  CHECK(hidden_of(-3, -4, 0, 0, false) == 0.0);
  CHECK(hidden_of(-3, -4, 1, 1, true) == -14.0);
  CHECK(hidden_of(3, 4, -1, -1, true) == 0.0);
}

TEST_CASE("a block of rows keeps to its bytes and its rows") {
  CHECK(hidden_block_rows(5, 8, 4) == 5);
  CHECK(hidden_block_rows(8192, 8, 4) == 512);
  CHECK(hidden_block_rows(8192, 4096, 4) == 256);
  CHECK(hidden_block_rows(8192, 4096, 8) == 128);
  CHECK(hidden_block_rows(8192, 10000000, 8) == 16);
  CHECK(hidden_block_rows(3, 10000000, 8) == 3);
}

}  // namespace mha
