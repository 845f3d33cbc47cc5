// Short items of a batch are computed some at a time: each of them must read its own
// numbers, masks and lengths.
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "catch.h"
#include "kernels/linear.h"
#include "support/error_of.h"
#include "support/recorder.h"
#include "support/scenario.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

// OpenBLAS, which multiplies where SIMD units are narrow, gives a row other bits beside
// other rows.
struct NativeGuard {
  NativeGuard() { use_gemm(Gemm::native); }
  NativeGuard(const NativeGuard&) = delete;
  NativeGuard& operator=(const NativeGuard&) = delete;
  ~NativeGuard() { use_gemm(Gemm::automatic); }
};

struct Inputs {
  explicit Inputs(const Scenario& scenario)
      : x(tensor_of<float>(
            {scenario.input.batch, scenario.input.n_queries, scenario.layer.d_model},
            scenario.input.x)),
        key(tensor_of<float>(
            {scenario.input.batch, scenario.input.n_keys, scenario.layer.d_key},
            scenario.input.key)),
        value(tensor_of<float>(
            {scenario.input.batch, scenario.input.n_keys, scenario.layer.d_value},
            scenario.input.value)) {}
  Tensor<float> x, key, value;
};

// One source for queries, keys and values where `self`.
Watched<float> run(const Scenario& scenario, bool self) {
  const Inputs inputs(scenario);
  const AttentionInputs<float> others = {inputs.x, inputs.key, inputs.value};
  return watch<float>(weights_of<float>(scenario), scenario.settings, mask_of<float>(scenario),
                      self ? AttentionInputs<float>{inputs.x, inputs.x, inputs.x} : others);
}

// y with nobody watching.
Tensor<float> run_unwatched(const Scenario& scenario) {
  const Inputs inputs(scenario);
  Observer<float> nobody;
  AttentionFindings findings;
  return attention<float>(weights_of<float>(scenario), scenario.settings,
                          mask_of<float>(scenario), {inputs.x, inputs.key, inputs.value},
                          nobody, findings);
}

std::vector<double> part_of(const std::vector<double>& values, std::size_t item,
                            std::size_t batch) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / batch);
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(item) * size;
  return {first, first + size};
}

Scenario alone(const Scenario& scenario, std::size_t item) {
  Scenario one = scenario;
  const std::size_t batch = scenario.input.batch;
  one.input.batch = 1;
  for (auto* rows : {&one.input.x, &one.input.key, &one.input.value}) {
    *rows = part_of(*rows, item, batch);
  }
  for (auto* masks : {&one.drop, &one.add}) {
    for (Scenario::Values& mask : *masks) {
      if (mask.shape[0] == 1) continue;
      mask.values = part_of(mask.values, item, batch);
      mask.shape[0] = 1;
    }
  }
  if (!one.key_lengths.empty()) one.key_lengths = {scenario.key_lengths[item]};
  return one;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

// Whether a batch gives, step by step, what its items give alone; the first step that
// does not.
std::string difference_to_alone(const Scenario& scenario, bool self) {
  const Watched<float> batch = run(scenario, self);
  std::size_t empty_rows = 0;
  std::size_t leaking_keys = 0;
  for (std::size_t item = 0; item < scenario.input.batch; ++item) {
    const Watched<float> one = run(alone(scenario, item), self);
    for (const Step step : steps_of({.part = Part::attention})) {
      const auto expected = one.steps.at(step).values();
      const auto found = batch.steps.at(step).values();
      if (!same_bits(found.subspan(item * expected.size(), expected.size()), expected)) {
        return std::string(name_of(step)) + " of item " + std::to_string(item);
      }
    }
    empty_rows += one.findings.empty_rows;
    leaking_keys += one.findings.leaking_keys;
  }
  if (batch.findings.empty_rows != empty_rows) return "rows that see nothing";
  if (batch.findings.leaking_keys != leaking_keys) return "keys that leak";
  return "";
}

}  // namespace

TEST_CASE("forty short items give the same bits together as alone, in every step") {
  const NativeGuard native;
  std::mt19937 random(1);
  const std::size_t n = GENERATE(3, 4, 13, 30);
  const bool self = GENERATE(true, false);
  const std::size_t d_v = GENERATE(6, 5);  // of heads of 6
  const std::size_t kind = GENERATE(0, 1, 2);
  ScenarioSizes sizes{40, n, self ? n : n + 4, 12, 12, 12, 4, 2, 6, d_v};
  if (kind == 2) sizes.buckets = 8;
  Scenario scenario = random_scenario(sizes, random);
  if (kind == 1) {
    for (std::size_t item = 0; item < 40; ++item) {
      scenario.key_lengths.push_back(item * 7 % (sizes.n_keys + 1));
    }
    scenario.add.push_back(random_add({40, 1, n, sizes.n_keys}, random));
    scenario.add.back().values[3] = -2000.0;
  }
  if (kind == 2) {
    scenario.settings.causal = Causal::end;
    scenario.settings.rope = Rope::halves;
    scenario.settings.softcap = 3.0;
    scenario.drop.push_back(random_drop({40, 4, 1, sizes.n_keys}, 0.3, random));
  }
  CAPTURE(n, self, d_v, kind);
  CHECK(difference_to_alone(scenario, self) == "");
}

TEST_CASE("short items have the same bits on any number of threads, watched or not") {
  const ThreadsGuard guard;
  std::mt19937 random(2);
  const std::size_t d_v = GENERATE(32, 24);
  Scenario scenario = random_scenario({50, 24, 20, 64, 64, 64, 4, 2, 32, d_v}, random);
  scenario.drop.push_back(random_drop({50, 1, 24, 20}, 0.2, random));
  const Watched<float> expected = run(scenario, false);
  for (const std::size_t threads : {1, 2, 3}) {
    use_threads(threads);
    const Watched<float> found = run(scenario, false);
    CAPTURE(d_v, threads);
    for (const Step step : steps_of({.part = Part::attention})) {
      INFO(name_of(step));
      CHECK(same_bits(found.steps.at(step).values(), expected.steps.at(step).values()));
    }
    CHECK(same_bits(found.y.values(), expected.y.values()));
    CHECK(same_bits(run_unwatched(scenario).values(), expected.y.values()));
  }
}

TEST_CASE("short items of wide heads, packed some at a time, have the same bits as alone") {
  const NativeGuard native;
  std::mt19937 random(5);
  // 128 of them are projected together, whose packed heads take 37 MB (AVX2: 21 MB), of
  // which 16 MB are held at a time.
  Scenario scenario = random_scenario({130, 4, 4, 8, 8, 8, 32, 32, 64, 64}, random);
  for (std::size_t item = 0; item < 130; ++item) {
    scenario.key_lengths.push_back(item * 3 % 5);
  }
  CHECK(difference_to_alone(scenario, false) == "");
}

TEST_CASE("long items, some heads of which are packed at a time, are what their maps say") {
  std::mt19937 random(6);
  // 16 MB hold three of the key heads; maps want all four.
  Scenario scenario = random_scenario({2, 2, 10000, 3, 3, 3, 8, 4, 64, 64}, random);
  scenario.key_lengths = {10000, 7000};
  CHECK(same_bits(run_unwatched(scenario).values(), run(scenario, false).y.values()));
}

TEST_CASE("items beside one with huge scores have the same bits as alone") {
  const NativeGuard native;
  std::mt19937 random(3);
  Scenario scenario = random_scenario({12, 5, 7, 8, 8, 8, 2, 2, 4, 4}, random);
  // Their sizes could overflow a score, and none does.
  for (std::size_t i = 0; i < 5 * 8; ++i) scenario.input.x[4 * 5 * 8 + i] *= 1e18;
  for (std::size_t i = 0; i < 7 * 8; ++i) scenario.input.key[4 * 7 * 8 + i] *= 1e19;
  CHECK(difference_to_alone(scenario, false) == "");
}

TEST_CASE("an overflow in one of many short items names that item") {
  std::mt19937 random(4);
  const Scenario scenario = random_scenario({40, 3, 3}, random);
  const std::size_t item = GENERATE(0, 17, 39);
  const std::string name = "item " + std::to_string(item) + ", ";
  const std::string rest = " overflow f32; f64 may hold them";
  Scenario scores = scenario;
  scores.input.x[(item * 3 + 1) * 8] = 1e25;
  scores.input.key[(item * 3 + 2) * 8] = 1e25;
  CHECK(error_of([&] { run(scores, false); }) ==
        "attention scores of " + name + "head 0, query 1" + rest);

  using Rows = std::vector<double>;
  const auto message = [&](Rows naive::Input::*rows, const Rows& W) {
    Scenario one = scenario;
    for (std::size_t j = 0; j < 8; ++j) {
      // Of the signs of the first column's weights, so that their sizes add up.
      (one.input.*rows)[(item * 3 + 1) * 8 + j] = W[j * 4] < 0.0 ? -3e38 : 3e38;
    }
    return error_of([&] { run(one, false); });
  };
  const naive::Layer& layer = scenario.layer;
  const std::string row = name + "row 1" + rest;
  CHECK(message(&naive::Input::x, layer.W_Q) == "the numbers of q, " + row);
  CHECK(message(&naive::Input::key, layer.W_K) == "the numbers of k, " + row);
  CHECK(message(&naive::Input::value, layer.W_V) == "the numbers of v, " + row);
}

TEST_CASE("batches of short items agree with the reference, in every step") {
  std::mt19937 random(20170612);
  const auto among = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
  for (int round = 0; round < 40; ++round) {
    ScenarioSizes sizes;
    sizes.batch = among(20, 60);
    sizes.n_queries = among(1, 30);
    sizes.n_keys = among(1, 30);
    sizes.d_model = among(1, 20);
    sizes.d_key = among(1, 20);
    sizes.d_value = among(1, 20);
    sizes.n_kv_heads = among(1, 3);
    sizes.n_heads = sizes.n_kv_heads * among(1, 3);
    sizes.d_head = 2 * among(1, 5);
    sizes.d_v = chance(0.5) ? sizes.d_head : among(1, 9);
    if (chance(0.2)) sizes.buckets = 8;
    if (chance(0.2)) {  // latents
      sizes.n_kv_heads = sizes.n_heads;
      sizes.d_key = sizes.d_value = sizes.d_model;
      sizes.kv_rank = among(1, 12);
      sizes.d_rope = 2;
      sizes.d_head += 2;
    }
    Scenario scenario = random_scenario(sizes, random);
    scenario.settings.rope = std::array{Rope::none, Rope::halves, Rope::pairs}[among(0, 2)];
    scenario.settings.causal =
        std::array{Causal::off, Causal::start, Causal::end}[among(0, 2)];
    if (chance(0.3)) scenario.settings.window = among(0, 12);
    if (chance(0.3)) {
      scenario.drop.push_back(random_drop(
          {sizes.batch, chance(0.5) ? 1 : sizes.n_heads, 1, sizes.n_keys}, 0.3, random));
    }
    if (chance(0.3)) {
      scenario.add.push_back(
          random_add({sizes.batch, 1, sizes.n_queries, sizes.n_keys}, random));
    }
    for (std::size_t b = 0; b < sizes.batch && round % 3 == 0; ++b) {
      scenario.key_lengths.push_back(among(0, sizes.n_keys + 1));
    }
    CAPTURE(round, sizes.batch, sizes.n_queries, sizes.n_keys, sizes.d_model, sizes.n_heads,
            sizes.n_kv_heads, sizes.d_head, sizes.d_v, sizes.buckets, sizes.kv_rank);
    check_against_reference<float>(scenario);
  }
}

}  // namespace mha
