// The layer, every step of it, against the naive reference in double.
#include <array>
#include <random>

#include "catch.h"
#include "support/scenario.h"

namespace mha {

TEMPLATE_TEST_CASE("numbers of queries around the block edges agree with the reference", "",
                   float, double) {
  const std::size_t n_keys = GENERATE(1, 7, 20000);
  ScenarioSizes sizes{1, 0, n_keys, 3, 3, 3, 2, 1, 3, 2};
  const std::size_t block = score_block_rows(1000, n_keys, sizeof(TestType));
  REQUIRE(block == (n_keys < 20000 ? 128u : sizeof(TestType) == 4 ? 52u : 26u));
  const std::size_t n_queries = GENERATE_COPY(std::size_t{1}, block - 1, block, block + 1);
  sizes.n_queries = n_queries;
  if (n_keys == 7) sizes.buckets = 8;
  std::mt19937 random(7);
  Scenario scenario = random_scenario(sizes, random);
  if (n_keys == 7) {  // what goes by positions goes on across blocks
    scenario.settings.causal = Causal::end;
    scenario.settings.window = 3;
    scenario.settings.relative_distance = 20;
  }
  CAPTURE(n_keys, n_queries);
  check_against_reference<TestType>(scenario);
}

TEMPLATE_TEST_CASE("grouped and multi-query heads agree with the reference", "", float,
                   double) {
  const auto [n_heads, n_kv_heads] = GENERATE(
      std::pair{1, 1}, std::pair{6, 6}, std::pair{6, 3}, std::pair{6, 2}, std::pair{6, 1});
  std::mt19937 random(11);
  ScenarioSizes sizes{2, 5, 9, 10, 10, 10};
  sizes.n_heads = static_cast<std::size_t>(n_heads);
  sizes.n_kv_heads = static_cast<std::size_t>(n_kv_heads);
  sizes.d_v = 3;
  CAPTURE(n_heads, n_kv_heads);
  check_against_reference<TestType>(random_scenario(sizes, random));
}

TEMPLATE_TEST_CASE("two hundred random layers agree with the reference", "", float, double) {
  std::mt19937 random(20170612);
  const auto among = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
  for (int round = 0; round < 200; ++round) {
    ScenarioSizes sizes;
    sizes.batch = among(1, 3);
    sizes.n_queries = among(1, 20);
    sizes.d_model = among(1, 24);
    sizes.n_kv_heads = among(1, 4);
    sizes.n_heads = sizes.n_kv_heads * among(1, 3);
    sizes.d_head = among(1, 9);
    sizes.d_v = chance(0.5) ? sizes.d_head : among(1, 9);
    sizes.biases = chance(0.5);
    const bool cross = chance(0.5);
    sizes.n_keys = cross ? among(1, 20) : sizes.n_queries;
    sizes.d_key = cross ? among(1, 24) : sizes.d_model;
    sizes.d_value = cross ? among(1, 24) : sizes.d_model;
    sizes.zero_key = chance(0.2);
    if (chance(0.2)) sizes.buckets = 8;
    const Rope rope =
        std::array{Rope::none, Rope::none, Rope::halves, Rope::pairs}[among(0, 3)];
    if (chance(0.25)) {  // latents
      sizes.n_kv_heads = sizes.n_heads;
      sizes.d_key = sizes.d_value = sizes.d_model;
      if (chance(0.7)) sizes.q_rank = among(1, 12);
      sizes.kv_rank = among(1, 12);
      sizes.d_rope = 2 * among(0, 3);
      sizes.d_head += sizes.d_rope;
    } else {
      sizes.bias_key = chance(0.2);
      if (rope != Rope::none) sizes.d_head += sizes.d_head % 2;
    }
    Scenario scenario = random_scenario(sizes, random);
    scenario.settings.rope = rope;
    if (chance(0.5)) scenario.settings.rope_theta = 100.0;
    if (chance(0.5)) scenario.settings.relative_distance = 20;
    if (chance(0.3)) scenario.settings.window = among(0, 12);
    if (!cross) scenario.input.key = scenario.input.value = scenario.input.x;
    if (sizes.biases && chance(0.3)) scenario.layer.b_K.clear();

    // Any axis of a mask may be 1.
    const auto axes = [&] {
      return Shape{chance(0.5) ? 1 : sizes.batch, chance(0.5) ? 1 : sizes.n_heads,
                   chance(0.5) ? 1 : sizes.n_queries, chance(0.8) ? sizes.n_keys : 1};
    };
    while (chance(0.4)) scenario.drop.push_back(random_drop(axes(), 0.3, random));
    while (chance(0.4)) scenario.add.push_back(random_add(axes(), random));
    if (chance(0.3)) {
      for (std::size_t b = 0; b < sizes.batch; ++b) {
        scenario.key_lengths.push_back(among(0, sizes.n_keys + 1));
      }
    }
    scenario.settings.causal =
        std::array{Causal::off, Causal::off, Causal::start, Causal::end}[among(0, 3)];
    if (chance(0.3)) scenario.settings.scale = chance(0.5) ? 1.0 : 0.1;
    if (chance(0.3)) scenario.settings.softcap = chance(0.5) ? 2.0 : 30.0;
    scenario.settings.early_fusion = chance(0.2);
    CAPTURE(round, sizes.batch, sizes.n_queries, sizes.n_keys, sizes.d_model, sizes.n_heads,
            sizes.n_kv_heads, sizes.d_head, sizes.d_v, sizes.bias_key, sizes.zero_key,
            sizes.buckets, sizes.q_rank, sizes.kv_rank, sizes.d_rope, cross);
    check_against_reference<TestType>(scenario);
  }
}

}  // namespace mha
