// What attention() promises beside its numbers: bounds, order, refusals.
#include "layer/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "catch.h"
#include "support/error_of.h"
#include "support/ramp.h"
#include "support/recorder.h"
#include "support/scenario.h"

namespace mha {
namespace {

std::string refusal(const Shape& x, const Shape& key, const Shape& value) {
  const AttentionSizes sizes = {4, 3, 2, 2, 2, 2, 2};
  const auto x_tensor = Tensor<float>::zeros(x);
  const auto key_tensor = Tensor<float>::zeros(key);
  const auto value_tensor = Tensor<float>::zeros(value);
  return error_of([&] { check_inputs<float>(sizes, {x_tensor, key_tensor, value_tensor}); });
}

// A small layer on random numbers.
template <typename T>
Watched<T> run(const Scenario& scenario) {
  const naive::Input& input = scenario.input;
  const auto x_tensor =
      tensor_of<T>({input.batch, input.n_queries, scenario.layer.d_model}, input.x);
  const auto key_tensor =
      tensor_of<T>({input.batch, input.n_keys, scenario.layer.d_key}, input.key);
  const auto value_tensor =
      tensor_of<T>({input.batch, input.n_keys, scenario.layer.d_value}, input.value);
  return watch<T>(weights_of<T>(scenario), scenario.settings, mask_of<T>(scenario),
                  {x_tensor, key_tensor, value_tensor});
}

// All widths 1 and all weights 1: a score is query times key.
AttentionWeights<float> scalar_layer() {
  AttentionWeights<float> weights;
  weights.sizes = {1, 1, 1, 1, 1, 1, 1};
  for (auto* W : {&weights.W_Q, &weights.W_K, &weights.W_V, &weights.W_O}) {
    *W = ramp::tensor<float>({1, 1}, {1});
  }
  return weights;
}

// [n, 1]
Tensor<float> numbers(const std::vector<double>& values) {
  return ramp::tensor<float>({values.size(), 1}, values);
}

// Rows of [n, width] at `order`.
std::vector<double> reordered(const std::vector<double>& rows, std::size_t width,
                              const std::vector<std::size_t>& order) {
  std::vector<double> result;
  for (const std::size_t row : order) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("every map row sums to one", "", float, double) {
  std::mt19937 random(3);
  Scenario scenario = random_scenario({2, 30, 3000}, random);
  scenario.drop.push_back(random_drop({2, 1, 1, 3000}, 0.5, random));
  const auto result = run<TestType>(scenario);
  const auto& maps = result.steps.at(Step::maps);
  for (std::size_t m = 0; m < maps.matrix_count(); ++m) {
    for (std::size_t i = 0; i < 30; ++i) {
      const TestType* row = maps.matrix(m).row(i);
      double sum = 0.0;
      for (std::size_t j = 0; j < 3000; ++j) sum += static_cast<double>(row[j]);
      // f32: the sum that they are divided by is f32 too, a few of its last bits off.
      CHECK(std::abs(sum - 1.0) <= (sizeof(TestType) == 4 ? 4e-7 : 1e-13));
    }
  }
}

TEMPLATE_TEST_CASE("equal keys give a uniform map and the mean of the values", "", float,
                   double) {
  std::mt19937 random(4);
  Scenario scenario = random_scenario({1, 5, 700}, random);
  for (std::size_t i = 8; i < scenario.input.key.size(); ++i) {
    scenario.input.key[i] = scenario.input.key[i - 8];
  }
  const auto result = run<TestType>(scenario);
  for (const TestType weight : result.steps.at(Step::maps).values()) {
    // Scores of equal keys may differ in their last bit, by where a key lies
    // in the tiles of the BLAS.
    CHECK(std::abs(static_cast<double>(weight) * 700 - 1.0) <=
          (sizeof(TestType) == 4 ? 2e-6 : 1e-14));
  }
}

TEMPLATE_TEST_CASE("keys may be permuted together with their values", "", float, double) {
  std::mt19937 random(5);
  Scenario scenario = random_scenario({1, 6, 40}, random);
  std::vector<std::size_t> order(40);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Scenario permuted = scenario;
  permuted.input.key = reordered(scenario.input.key, 8, order);
  permuted.input.value = reordered(scenario.input.value, 8, order);
  const auto a = run<TestType>(scenario);
  const auto b = run<TestType>(permuted);
  REQUIRE(a.steps.at(Step::k).data()[0] != b.steps.at(Step::k).data()[0]);
  for (std::size_t i = 0; i < a.y.size(); ++i) {
    // y is around 1; the order of 40 additions differs.
    CHECK(std::abs(static_cast<double>(a.y.data()[i] - b.y.data()[i])) <=
          (sizeof(TestType) == 4 ? 1e-6 : 1e-14));
  }
}

TEMPLATE_TEST_CASE("two runs give the same bytes", "", float, double) {
  std::mt19937 random(6);
  const Scenario scenario = random_scenario({2, 150, 150, 64, 64, 64, 8, 8, 8, 8}, random);
  const auto a = run<TestType>(scenario);
  const auto b = run<TestType>(scenario);
  for (const Step step : steps_of({.part = Part::attention})) {
    const auto left = a.steps.at(step).values();
    CHECK(std::equal(left.begin(), left.end(), b.steps.at(step).values().begin()));
  }
}

TEMPLATE_TEST_CASE("an item of a batch gives what it gives alone", "", float, double) {
  std::mt19937 random(8);
  const Scenario both = random_scenario({2, 5, 7}, random);
  Scenario second = both;
  second.input.batch = 1;
  for (auto* rows : {&second.input.x, &second.input.key, &second.input.value}) {
    rows->erase(rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(rows->size() / 2));
  }
  const auto a = run<TestType>(both);
  const auto b = run<TestType>(second);
  CHECK(std::equal(b.y.values().begin(), b.y.values().end(),
                   a.y.values().begin() + static_cast<std::ptrdiff_t>(b.y.size())));
}

TEST_CASE("scores that overflow f32 are an error, or pass where that is wanted") {
  AttentionSettings settings;
  settings.scale = 1e38;
  auto x = ramp::x<float>();
  for (std::size_t j = 0; j < 4; ++j) x.matrix()(1, j) *= 1000.0F;
  const auto weights = ramp::weights<float>();
  CHECK(error_of([&] {
          watch<float>(weights, settings, {}, {x, x, x});
        }) == "attention scores of head 0, query 0 overflow f32; f64 may hold them");
  settings.allow_nonfinite = true;
  const auto passed = watch<float>(weights, settings, {}, {x, x, x});
  CHECK(!std::isfinite(passed.y.data()[0]));
}

TEST_CASE("scores that overflow f32 hold in f64, up to its own end") {
  AttentionSettings settings;
  settings.scale = 1e38;
  auto x = ramp::x<double>();
  for (std::size_t j = 0; j < 4; ++j) x.matrix()(1, j) *= 1000.0;
  const auto weights = ramp::weights<double>();
  CHECK(std::isfinite(watch<double>(weights, settings, {}, {x, x, x}).y.data()[0]));
  settings.scale = 1e308;
  CHECK(error_of([&] {
          watch<double>(weights, settings, {}, {x, x, x});
        }) == "attention scores of head 0, query 0 overflow f64");
}

TEST_CASE("an overflow names item, head and query where it happens") {
  const auto weights = ramp::weights<float>();
  auto x = Tensor<float>::zeros({2, 3, 4});
  x.matrix(1)(1, 0) = 1e20F;  // of item 1, and only its own score overflows
  CHECK(error_of([&] {
          watch<float>(weights, {}, {}, {x, x, x});
        }) == "attention scores of item 1, head 1, query 1 overflow f32; f64 may hold them");
}

TEST_CASE("queries beyond the first block keep their number in an error") {
  auto x = numbers(std::vector<double>(130, 1.0));
  x.data()[129] = 3e38F;
  const auto key = numbers({0, 3000});
  CHECK(error_of([&] {
          watch<float>(scalar_layer(), {}, {}, {x, key, key});
        }) == "attention scores of head 0, query 129 overflow f32; f64 may hold them");
}

TEST_CASE("a relative bias that takes a score beyond f32 is an error too") {
  auto weights = scalar_layer();
  weights.relative_bias = ramp::tensor<float>({4, 1}, {3e38, 0, 0, 0});  // of distance 0
  const auto x = numbers({1, 1});
  const auto key = numbers({0, 2e38});
  CHECK(error_of([&] {
          watch<float>(weights, {}, {}, {x, key, x});
        }) == "attention scores of head 0, query 1 overflow f32; f64 may hold them");
}

TEST_CASE("a relative bias may overflow scores that are far from it themselves") {
  auto weights = scalar_layer();
  weights.relative_bias = ramp::tensor<float>({4, 1}, {3e38, 0, 0, 0});
  const auto x = numbers({1e19, 1e19});
  const auto key = numbers({0, 7e18});
  CHECK(error_of([&] {
          watch<float>(weights, {}, {}, {x, key, numbers({1, 1})});
        }) == "attention scores of head 0, query 1 overflow f32; f64 may hold them");
}

TEST_CASE("latents that overflow are named by what is made of them") {
  std::mt19937 random(9);
  ScenarioSizes sizes;
  sizes.kv_rank = 4;
  auto weights = weights_of<float>(random_scenario(sizes, random));
  std::fill_n(weights.latent->W_DKV.data(), weights.latent->W_DKV.size(), 1.0F);
  const auto x = Tensor<float>::zeros({3, 8});
  Tensor<float> key({3, 8});
  std::fill_n(key.data(), key.size(), 3e38F);
  CHECK(error_of([&] {
          watch<float>(weights, {}, {}, {x, key, key});
        }) == "the numbers of k, row 0 overflow f32; f64 may hold them");
}

TEST_CASE("a projection that overflows is named by its step") {
  Tensor<float> x({3, 4});
  std::fill_n(x.data(), x.size(), 3e38F);
  const auto message = [&](Tensor<float> AttentionWeights<float>::*of_ones) {
    auto weights = ramp::weights<float>();
    for (auto* W : {&weights.W_Q, &weights.W_K, &weights.W_V}) {
      std::fill_n(W->data(), W->size(), 0.0F);
    }
    std::fill_n((weights.*of_ones).data(), (weights.*of_ones).size(), 1.0F);
    return error_of([&] { watch<float>(weights, {}, {}, {x, x, x}); });
  };
  const std::string rest = ", row 0 overflow f32; f64 may hold them";
  CHECK(message(&AttentionWeights<float>::W_Q) == "the numbers of q" + rest);
  CHECK(message(&AttentionWeights<float>::W_K) == "the numbers of k" + rest);
  CHECK(message(&AttentionWeights<float>::W_V) == "the numbers of v" + rest);
  CHECK(message(&AttentionWeights<float>::W_O) == "no error");
  auto weights = ramp::weights<float>();
  std::fill_n(weights.W_O.data(), weights.W_O.size(), 3e38F);
  std::fill_n(weights.b_V.data(), weights.b_V.size(), 10.0F);
  const auto small = ramp::x<float>();
  CHECK(error_of([&] {
          watch<float>(weights, {}, {}, {small, small, small});
        }) == "the numbers of attention_output" + rest);
}

TEST_CASE("inputs that do not fit the weights are refused with both numbers") {
  CHECK(refusal({5, 4}, {6, 3}, {6, 2}) == "no error");
  CHECK(refusal({2, 5, 4}, {2, 6, 3}, {2, 6, 2}) == "no error");
  CHECK(refusal({5, 5}, {6, 3}, {6, 2}) == "input: rows are 5 wide, expected 4 (d_model)");
  CHECK(refusal({5, 4}, {6, 4}, {6, 2}) ==
        "key: rows are 4 wide, expected 3 (d_key, the rows of W_K)");
  CHECK(refusal({5, 4}, {6, 3}, {6, 3}) ==
        "value: rows are 3 wide, expected 2 (d_value, the rows of W_V)");
  CHECK(refusal({5, 4}, {6, 3}, {7, 2}) == "value: has 7 rows, expected 6, one for each key");
  CHECK(refusal({2, 5, 4}, {3, 6, 3}, {2, 6, 2}) ==
        "key: shape is [3, 6, 3], expected the rank and batch of input, [2, 5, 4]");
  CHECK(refusal({1, 5, 4}, {1, 6, 3}, {6, 2}) ==
        "value: shape is [6, 2], expected the rank and batch of input, [1, 5, 4]");
  CHECK(refusal({4}, {6, 3}, {6, 2}) ==
        "input: shape is [4], expected [n, d] or [batch, n, d]");
  CHECK(refusal({5, 4}, {0, 3}, {0, 2}) ==
        "key: shape is [0, 3], expected at least one vector");
  CHECK(refusal({0, 5, 4}, {0, 6, 3}, {0, 6, 2}) ==
        "input: shape is [0, 5, 4], expected at least one vector");
}

TEST_CASE("self-attention blames the input for the width of its keys") {
  const AttentionSizes sizes = {4, 3, 4, 2, 2, 2, 2};
  const auto x = Tensor<float>::zeros({5, 4});
  CHECK(error_of([&] {
          check_inputs<float>(sizes, {x, x, x});
        }) == "input: rows are 4 wide, expected 3 (d_key, the rows of W_K)");
}

TEST_CASE("an additive mask that still leaves its keys weight is counted") {
  const auto x = ramp::x<float>();
  Mask<float> mask;
  const MaskAxes axes = {1, 2, 3, 3};
  const auto leaks = [&](std::vector<double> keys) {
    mask.add.clear();
    mask.add.push_back(broadcast_mask(ramp::tensor<float>({3}, keys), axes, "mask"));
    return watch<float>(ramp::weights<float>(), {}, mask, {x, x, x}).findings.leaking_keys;
  };
  CHECK(leaks({0, -10, 0}) == 0);
  CHECK(leaks({0, -10000, 0}) == 0);
  CHECK(leaks({-10000, -10000, -10000}) == 18);  // 3 keys of 3 queries of 2 heads
  CHECK(leaks({-10000, -std::numeric_limits<double>::infinity(), -10000}) == 12);
}

TEST_CASE("a key leaks only where it was discouraged") {
  const auto x = numbers(std::vector<double>(130, 1.0));  // two blocks of rows
  const auto key = numbers({0, 3000});
  auto values = Tensor<float>::zeros({130, 2});
  values.matrix()(129, 1) = -1500.0F;  // too little against a score of 3000
  Mask<float> mask;
  mask.add.push_back(broadcast_mask(std::move(values), {1, 1, 130, 2}, "mask"));
  CHECK(watch<float>(scalar_layer(), {}, mask, {x, key, key}).findings.leaking_keys == 1);
}

TEST_CASE("a block of scores keeps to its bytes and its rows") {
  CHECK(score_block_rows(1000, 1, 4) == 128);
  CHECK(score_block_rows(5, 1, 4) == 5);
  CHECK(score_block_rows(8192, 8192, 4) == 128);
  CHECK(score_block_rows(8192, 8192, 8) == 64);
  CHECK(score_block_rows(8192, 100000, 4) == 10);
  CHECK(score_block_rows(8192, 10000000, 8) == 1);
}

}  // namespace mha
