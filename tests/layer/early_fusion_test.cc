// Every head reads its own values with the mean of all heads' maps, instead of its own map
// and the mean of what was read.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.h"
#include "support/recorder.h"
#include "support/scenario.h"
#include "support/stack.h"

namespace mha {
namespace {

template <typename T>
Tensor<T> run(const Scenario& scenario, bool early_fusion) {
  const auto x =
      tensor_of<T>({scenario.input.batch, scenario.input.n_queries, scenario.layer.d_model},
                   scenario.input.x);
  AttentionSettings settings = scenario.settings;
  settings.early_fusion = early_fusion;
  return watch<T>(weights_of<T>(scenario), settings, mask_of<T>(scenario), {x, x, x}).y;
}

double largest_difference(const Tensor<double>& a, const Tensor<double>& b) {
  REQUIRE(a.shape() == b.shape());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a.data()[i] - b.data()[i]));
  }
  return largest;
}

}  // namespace

TEMPLATE_TEST_CASE("early fusion agrees with the reference, over blocks, items and groups", "",
                   float, double) {
  const std::size_t n_kv_heads = GENERATE(1, 2, 4);
  const std::size_t d_v = GENERATE(4, 3);  // what is read stands in q's place, or does not
  ScenarioSizes sizes{2, 150, 9, 10, 10, 10, 4, n_kv_heads, 4, d_v};
  std::mt19937 random(3);
  Scenario scenario = random_scenario(sizes, random);
  scenario.settings.early_fusion = true;
  SECTION("without masks") {}
  SECTION("with rows that some heads or all of them cannot read") {
    scenario.settings.causal = Causal::end;
    scenario.drop.push_back(random_drop({2, 4, 150, 9}, 0.5, random));
  }
  CAPTURE(n_kv_heads, d_v);
  check_against_reference<TestType>(scenario);
}

TEST_CASE("maps of 0.9 and 0.1 against each other become halves before the values are read") {
  // Head 0 looks at token 0 with 0.9, head 1 at token 1; d_head 1, scores 0 and ln 9.
  AttentionWeights<double> weights;
  weights.sizes = {2, 2, 2, 2, 2, 1, 1};
  const double score = std::log(9.0);
  weights.W_Q = tensor_of<double>({2, 2}, {1, 1, 1, 1});
  weights.W_K = tensor_of<double>({2, 2}, {score, 0, 0, score});
  weights.W_V = tensor_of<double>({2, 2}, {1, 0, 0, 1});  // each head's own token is worth 1
  weights.W_O = tensor_of<double>({2, 2}, {1, 0, 0, 1});
  const auto x = tensor_of<double>({2, 2}, {1, 0, 0, 1});
  AttentionSettings settings;
  const auto near = [](const Tensor<double>& got, const std::vector<double>& expected) {
    return largest_difference(got, tensor_of<double>({2, 2}, expected)) < 1e-12;
  };
  const auto late = watch<double>(weights, settings, {}, {x, x, x});
  CHECK(near(late.y, {.9, .9, .9, .9}));
  settings.early_fusion = true;
  const auto early = watch<double>(weights, settings, {}, {x, x, x});
  CHECK(near(early.y, {.5, .5, .5, .5}));
  // The maps that are shown are those that were computed.
  Tensor<double> maps = tensor_of<double>({2, 2, 2}, {.9, .1, .9, .1, .1, .9, .1, .9});
  maps.reshape({1, 2, 2, 2});
  CHECK(largest_difference(early.steps.at(Step::maps), maps) < 1e-12);
}

TEST_CASE("with one V for all heads and W_O of c I early and late fusion are equal") {
  ScenarioSizes sizes{2, 6, 6, 4, 4, 4, 3, 1, 4, 4};
  std::mt19937 random(4);
  Scenario scenario = random_scenario(sizes, random);
  // y = c (A_1 + A_2 + A_3) V either way.
  const double c = 1.0 / 3.0;
  scenario.layer.W_O.assign(3 * 4 * 4, 0.0);
  for (std::size_t head = 0; head < 3; ++head) {
    for (std::size_t i = 0; i < 4; ++i) scenario.layer.W_O[(head * 4 + i) * 4 + i] = c;
  }
  CHECK(largest_difference(run<double>(scenario, true), run<double>(scenario, false)) < 1e-14);

  SECTION("with another W_O of one head they differ") {
    scenario.layer.W_O[0] = 2.0;
    CHECK(largest_difference(run<double>(scenario, true), run<double>(scenario, false)) >
          1e-3);
  }
}

TEST_CASE("for heads of their own early and late fusion differ") {
  std::mt19937 random(5);
  const Scenario scenario = random_scenario({1, 6, 6, 8, 8, 8, 2, 2, 4, 4}, random);
  CHECK(largest_difference(run<double>(scenario, true), run<double>(scenario, false)) > 1e-3);
  SECTION("but a head alone is its own mean") {
    const Scenario one = random_scenario({1, 6, 6, 8, 8, 8, 1, 1, 4, 4}, random);
    CHECK(largest_difference(run<double>(one, true), run<double>(one, false)) < 1e-14);
  }
}

TEST_CASE("every layer of a stack fuses early") {
  const StackSizes sizes;
  std::mt19937 random(6);
  Stack stack;
  stack.n = sizes.n;
  LayerSettings settings;
  settings.attention.early_fusion = true;
  for (int i = 0; i < 2; ++i) {
    stack.layers.push_back(random_layer(sizes, settings, false, random));
    stack.layers.back().attention.early_fusion = true;
  }
  stack.x = random_x(sizes, random);
  check_against_reference<double>(stack, 1e-12);
}

}  // namespace mha
