// Which steps a stack shows, to whom and in what order.
#include <algorithm>
#include <random>

#include "catch.h"
#include "support/stack.h"

namespace mha {
namespace {

// Two layers over three items of 400 rows, whose edges lie within blocks.
Stack two_layers(const LayerSettings& settings, Part last) {
  const StackSizes sizes{3, 400, 3, 2, 2, 2};
  std::mt19937 random(12);
  Stack stack;
  stack.batch = sizes.batch;
  stack.n = sizes.n;
  for (int i = 0; i < 2; ++i) {
    stack.layers.push_back(random_layer(sizes, settings, i == 1, random));
  }
  stack.layers.back().settings.part = last;
  stack.x = random_x(sizes, random);
  return stack;
}

Tensor<float> x_of(const Stack& stack) {
  Tensor<float> x({stack.batch, stack.n, 3});
  std::copy(stack.x.begin(), stack.x.end(), x.data());
  return x;
}

// The steps in the order in which they first came.
std::vector<Step> order_of(const Recorder<float>& recorder) {
  std::vector<Step> order;
  for (const auto& block : recorder.blocks) {
    if (std::find(order.begin(), order.end(), block.step) == order.end()) {
      order.push_back(block.step);
    }
  }
  return order;
}

// Whether the blocks of a step are each row of each matrix once, in order.
bool whole(const Recorder<float>& recorder, Step step, std::size_t rows) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> next;  // item, head -> row
  for (const auto& block : recorder.blocks) {
    if (block.step != step) continue;
    std::size_t& row = next[{block.place.item, block.place.head}];
    if (block.place.first_row != row) return false;
    row += block.rows;
  }
  return next.size() == recorder.at(step).matrix_count() &&
         std::all_of(next.begin(), next.end(), [&](auto& one) { return one.second == rows; });
}

}  // namespace

TEST_CASE("a layer shows its steps in their order, every row of every item once") {
  LayerSettings settings;
  settings.norm = GENERATE(NormPlacement::post, NormPlacement::pre);
  const Part last = GENERATE(Part::layer, Part::attention);
  const Stack stack = two_layers(settings, last);
  const auto encoder = encoder_of<float>(stack);
  auto run = watch<float>(encoder, {}, x_of(stack));
  for (const std::size_t place : {0, 1}) {
    const Recorder<float>& layer = run.steps.layer(place);
    // Scores and maps of a head come together, before those of the next.
    CHECK(order_of(layer) == steps_of(encoder.layers[place].settings));
    for (const Step step : steps_of(encoder.layers[place].settings)) {
      CAPTURE(place, name_of(step));
      CHECK(whole(layer, step, 400));
    }
  }
  CHECK(order_of(run.steps.stack()) == std::vector<Step>{Step::y});
  CHECK(whole(run.steps.stack(), Step::y, 400));
}

TEST_CASE("a last norm is shown before y") {
  Stack stack = two_layers({}, Part::layer);
  stack.norm.weight = {1, 2, 3};
  auto run = watch<float>(encoder_of<float>(stack), {}, x_of(stack));
  CHECK(order_of(run.steps.stack()) == std::vector<Step>{Step::norm, Step::y});
  CHECK(whole(run.steps.stack(), Step::norm, 400));
}

TEST_CASE("a layer reads what the one before gave") {
  const Stack stack = two_layers({}, Part::layer);
  auto run = watch<float>(encoder_of<float>(stack), {}, x_of(stack));
  const auto y = run.steps.layer(0).at(Step::y).values();
  CHECK(std::equal(y.begin(), y.end(), run.steps.layer(1).at(Step::x).values().begin()));
}

TEST_CASE("only what is wanted is shown, and watching changes nothing") {
  const Stack stack = two_layers({}, Part::layer);
  const auto encoder = encoder_of<float>(stack);
  const auto x = x_of(stack);
  const auto watched = watch<float>(encoder, {}, x);
  StackObserver<float> nobody;
  AttentionFindings findings;
  const auto y = encode<float>(encoder, {}, {x, x, x}, nobody, findings);
  CHECK(std::equal(y.values().begin(), y.values().end(), watched.y.values().begin()));

  for (const Step step : steps_of({})) {
    StackRecorder<float> recorder(encoder, {3, 2, 400, 400});
    recorder.layer(1).only({step});
    encode<float>(encoder, {}, {x, x, x}, recorder, findings);
    REQUIRE(!recorder.layer(1).blocks.empty());
    for (const auto& block : recorder.layer(1).blocks) CHECK(block.step == step);
  }
}

TEST_CASE("an item of a batch gives what it gives alone") {
  const Stack stack = two_layers({}, Part::layer);
  const auto encoder = encoder_of<float>(stack);
  const auto x = x_of(stack);
  Tensor<float> second({400, 3});
  std::copy_n(x.matrix(1).data, second.size(), second.data());
  const auto both = watch<float>(encoder, {}, x);
  const auto alone = watch<float>(encoder, {}, second);
  for (std::size_t i = 0; i < alone.y.size(); ++i) {
    // y is around 1; where a row lies in the tiles of the BLAS decides its last bits.
    CHECK(std::abs(alone.y.data()[i] - both.y.matrix(1).data[i]) <= 1e-5F);
  }
}

}  // namespace mha
