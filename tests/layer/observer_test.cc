// The order in which the layer shows its steps, and that it shows no others.
#include "layer/observer.h"

#include <random>
#include <string>
#include <tuple>

#include "catch.h"
#include "support/recorder.h"
#include "support/scenario.h"

namespace mha {
namespace {

using Seen = std::vector<std::tuple<Step, std::size_t, std::size_t, std::size_t, std::size_t>>;

// Two items of 200 queries: more than a block has, so two even ones.
Recorder<float> watch_two_items(std::set<Step> only) {
  std::mt19937 random(9);
  const Scenario scenario = random_scenario({2, 200, 3, 4, 4, 4, 2, 1, 2, 2}, random);
  const auto x = tensor_of<float>({2, 200, 4}, scenario.input.x);
  const auto key = tensor_of<float>({2, 3, 4}, scenario.input.key);
  const auto weights = weights_of<float>(scenario);
  Recorder<float> recorder(weights.sizes, {2, 2, 200, 3});
  recorder.only(std::move(only));
  AttentionFindings findings;
  attention<float>(weights, {}, {}, {x, key, key}, recorder, findings);
  return recorder;
}

Seen seen_by(const Recorder<float>& recorder) {
  Seen seen;
  for (const auto& [step, place, rows] : recorder.blocks) {
    seen.emplace_back(step, place.item, place.head, place.first_row, rows);
  }
  return seen;
}

}  // namespace

TEST_CASE("blocks come item by item, every head of a row range before the next range") {
  Seen expected;
  // Short items share each step.
  for (const std::size_t item : {0, 1}) {
    for (const std::size_t head : {0, 1}) expected.emplace_back(Step::q, item, head, 0, 200);
    expected.emplace_back(Step::k, item, 0, 0, 3);
    expected.emplace_back(Step::v, item, 0, 0, 3);
  }
  for (const std::size_t item : {0, 1}) {
    for (const auto& [first, rows] : {std::pair{0, 100}, std::pair{100, 100}}) {
      for (const std::size_t head : {0, 1}) {
        for (const Step step : {Step::scores, Step::maps}) {
          expected.emplace_back(step, item, head, first, rows);
        }
      }
    }
  }
  for (const std::size_t item : {0, 1}) {
    for (const std::size_t head : {0, 1}) {
      expected.emplace_back(Step::head_outputs, item, head, 0, 200);
    }
    expected.emplace_back(Step::concat, item, 0, 0, 200);
    for (const std::size_t head : {0, 1}) {
      expected.emplace_back(Step::contributions, item, head, 0, 200);
    }
    expected.emplace_back(Step::attention_output, item, 0, 0, 200);
  }
  CHECK(seen_by(watch_two_items({})) == expected);
}

TEST_CASE("only what is wanted is shown") {
  for (const Step step : steps_of({.part = Part::attention})) {
    if (step == Step::x) continue;  // the layer's
    const auto recorder = watch_two_items({step});
    REQUIRE(!recorder.blocks.empty());
    for (const auto& block : recorder.blocks) CHECK(block.step == step);
  }
}

TEST_CASE("steps have names and an order, which the norms' place decides") {
  const auto names_of = [](const LayerSettings& settings) {
    std::string names;
    for (const Step step : steps_of(settings)) {
      names += (names.empty() ? "" : " ") + std::string(name_of(step));
      CHECK(step_named(name_of(step)) == step);
    }
    return names;
  };
  const std::string attention =
      "q k v scores maps head_outputs concat contributions attention_output";
  CHECK(names_of({.part = Part::attention}) == "x " + attention);
  CHECK(names_of({.norm = NormPlacement::pre, .part = Part::attention}) ==
        "x norm1 " + attention);
  CHECK(names_of({}) ==
        "x " + attention + " residual1 norm1 ffn_hidden ffn_output residual2 norm2 y");
  CHECK(names_of({.norm = NormPlacement::pre}) ==
        "x norm1 " + attention + " residual1 norm2 ffn_hidden ffn_output residual2 y");
  CHECK(!step_named("z").has_value());
}

TEST_CASE("steps have the shapes of the trace") {
  const LayerSizes sizes = {{5, 6, 7, 4, 2, 8, 9, true, true}, 11};
  const std::vector<Shape> shapes = {{3, 5},     {4, 3, 8}, {2, 12, 8}, {2, 12, 9}, {4, 3, 12},
                                     {4, 3, 12}, {4, 3, 9}, {3, 36},    {4, 3, 5},  {3, 5},
                                     {3, 5},     {3, 5},    {3, 11},    {3, 5},     {3, 5},
                                     {3, 5},     {3, 5},    {3, 5}};
  REQUIRE(shapes.size() == kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    CHECK(shape_of(static_cast<Step>(i), sizes, 3, 10) == shapes[i]);
  }
}

}  // namespace mha
