// Latent attention beside the reference: what absorbing does to weights and
// settings, and what is refused.
#include "layer/latent.h"

#include <cmath>
#include <random>

#include "catch.h"
#include "support/error_of.h"
#include "support/scenario.h"

namespace mha {
namespace {

Scenario latent_layer(std::size_t q_rank, std::mt19937& random) {
  ScenarioSizes sizes{2, 7, 7, 24, 24, 24, 3, 3, 6, 5};
  sizes.q_rank = q_rank;
  sizes.kv_rank = 8;
  sizes.d_rope = 4;
  return random_scenario(sizes, random);
}

}  // namespace

TEMPLATE_TEST_CASE("latent attention agrees with the reference, absorbed too", "", float,
                   double) {
  std::mt19937 random(37);
  const auto [q_rank, rope] = GENERATE(std::pair{0, Rope::halves}, std::pair{0, Rope::pairs},
                                       std::pair{10, Rope::halves}, std::pair{10, Rope::pairs},
                                       std::pair{10, Rope::none});
  Scenario scenario = latent_layer(static_cast<std::size_t>(q_rank), random);
  scenario.settings.rope = rope;
  scenario.settings.causal = Causal::start;
  CAPTURE(q_rank, static_cast<int>(rope));
  check_against_reference<TestType>(scenario);
  scenario.settings.scale = 0.3;
  scenario.settings.latent_eps = 0.1;
  check_against_reference<TestType>(scenario);
}

TEST_CASE("absorbing leaves one key and value head of the latent's width") {
  std::mt19937 random(38);
  auto weights = weights_of<double>(latent_layer(10, random));
  AttentionSettings settings;
  absorb(weights, settings);
  CHECK(weights.sizes.n_heads == 3);
  CHECK(weights.sizes.n_kv_heads == 1);
  CHECK(weights.sizes.d_head == 8 + 4);
  CHECK(weights.sizes.d_v == 8);
  CHECK(weights.latent->W_UQ.shape() == Shape{10, 3 * 8});
  CHECK(weights.latent->W_UK.empty());
  CHECK(weights.latent->W_UV.empty());
  CHECK(weights.W_O.shape() == Shape{3 * 8, 24});
  // Still of the 6 channels that a head had.
  CHECK(settings.scale == 1.0 / std::sqrt(6.0));
}

TEST_CASE("absorbing twice is absorbing once, and a given scale stays") {
  std::mt19937 random(39);
  auto weights = weights_of<double>(latent_layer(0, random));
  AttentionSettings settings{.scale = 0.7};
  absorb(weights, settings);
  const double first = weights.W_O.data()[0];
  absorb(weights, settings);
  CHECK(settings.scale == 0.7);
  CHECK(weights.W_O.data()[0] == first);
  CHECK(weights.sizes.d_head == 12);
}

TEST_CASE("latent attention has no values of their own") {
  std::mt19937 random(40);
  const auto sizes = weights_of<float>(latent_layer(0, random)).sizes;
  const auto x = Tensor<float>::zeros({7, 24});
  const auto other = Tensor<float>::zeros({7, 24});
  CHECK(error_of([&] { check_inputs<float>(sizes, {x, other, other}); }) == "no error");
  CHECK(error_of([&] {
          check_inputs<float>(sizes, {x, x, other}, {"x.npy", "x.npy", "v.npy"});
        }) ==
        "v.npy: is another source than the keys', expected the same: latent attention "
        "reads both from one latent");
  const auto narrow = Tensor<float>::zeros({7, 23});
  CHECK(error_of([&] {
          check_inputs<float>(sizes, {x, narrow, narrow});
        }) == "key: rows are 23 wide, expected 24 (d_key, the rows of W_DKV)");
}

}  // namespace mha
