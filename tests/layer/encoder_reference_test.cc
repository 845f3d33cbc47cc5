// Layers and stacks, every step of them, against the naive reference in double.
#include <array>
#include <random>

#include "catch.h"
#include "layer/feed_forward.h"
#include "support/stack.h"

namespace mha {
namespace {

// Up to three layers, each of which adds a few roundings of its largest number;
// a norm whose row has little spread enlarges them.
template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;

class Dice {
 public:
  explicit Dice(unsigned seed) : random(seed) {}
  std::size_t among(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random); }
  std::mt19937 random;
};

LayerSettings any_settings(Dice& dice) {
  LayerSettings settings;
  settings.attention.causal = dice.chance(0.3) ? Causal::start : Causal::off;
  settings.norm = dice.chance(0.5) ? NormPlacement::pre : NormPlacement::post;
  settings.norm_type = dice.chance(0.5) ? NormType::rms : NormType::layer;
  settings.activation = static_cast<Activation>(dice.among(0, 4));
  settings.eps = std::array{1e-5, 1e-12, 0.1}[dice.among(0, 2)];
  return settings;
}

}  // namespace

TEMPLATE_TEST_CASE("two hundred random stacks agree with the reference, step by step", "",
                   float, double) {
  Dice dice(20170612);
  for (int round = 0; round < 200; ++round) {
    StackSizes sizes;
    sizes.batch = dice.among(1, 3);
    sizes.n = dice.among(1, 12);
    sizes.d_model = dice.chance(0.1) ? 1 : dice.among(5, 24);
    sizes.n_heads = dice.among(1, 4);
    sizes.d_head = dice.among(1, 9);
    sizes.d_ff = dice.among(1, 40);
    sizes.biases = dice.chance(0.5);
    Stack stack;
    stack.batch = sizes.batch;
    stack.n = sizes.n;
    const LayerSettings settings = any_settings(dice);
    const bool gated = dice.chance(0.5);
    const bool alike = dice.chance(0.5);
    const std::size_t layers = dice.among(1, 3);
    for (std::size_t i = 0; i < layers; ++i) {
      stack.layers.push_back(random_layer(sizes, alike ? settings : any_settings(dice),
                                          alike ? gated : dice.chance(0.5), dice.random));
    }
    if (dice.chance(0.3)) stack.layers.front().norm1 = {};  // as ModernBERT's first
    if (dice.chance(0.1)) stack.layers.front().norm2 = {};
    if (dice.chance(0.3)) stack.layers.back().settings.part = Part::attention;
    if (dice.chance(0.5)) stack.norm = random_norm(sizes, dice.random);
    stack.x = random_x(sizes, dice.random);
    if (dice.chance(0.4)) {  // now and then a row with nothing left
      for (std::size_t i = 0; i < sizes.batch * sizes.n * sizes.n; ++i) {
        stack.drop.push_back(dice.chance(0.4) ? 1 : 0);
      }
    }
    CAPTURE(round, layers, sizes.batch, sizes.n, sizes.d_model, sizes.n_heads, sizes.d_head,
            sizes.d_ff);
    check_against_reference<TestType>(stack, kTolerance<TestType>);
  }
}

TEMPLATE_TEST_CASE("numbers of rows around the edges of a block agree with the reference", "",
                   float, double) {
  const std::size_t d_ff = GENERATE(2, 6000);
  const std::size_t block = hidden_block_rows(100000, d_ff, sizeof(TestType));
  REQUIRE(block == (d_ff == 2 ? 512u : sizeof(TestType) == 4 ? 174u : 87u));
  const std::size_t rows = GENERATE_COPY(block - 1, block, block + 1);
  const bool gated = GENERATE(true, false);
  StackSizes sizes{1, rows, 5, 1, 2, d_ff};
  if (rows % 3 == 0) {  // a block's edge inside an item
    sizes.batch = 3;
    sizes.n = rows / 3;
  }
  std::mt19937 random(7);
  LayerSettings settings;
  settings.norm = gated ? NormPlacement::pre : NormPlacement::post;
  settings.activation = Activation::gelu;
  Stack stack;
  stack.layers.push_back(random_layer(sizes, settings, gated, random));
  stack.batch = sizes.batch;
  stack.n = sizes.n;
  stack.x = random_x(sizes, random);
  CAPTURE(rows, d_ff, gated);
  check_against_reference<TestType>(stack, kTolerance<TestType>);
}

}  // namespace mha
