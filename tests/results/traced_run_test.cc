#include "results/traced_run.h"

#include "catch.h"
#include "support/error_of.h"

using namespace mha;

namespace {

constexpr AttentionSizes kGrouped = {32, 24, 20, 6, 2, 5, 7};
const LayerSettings kAttention{.part = Part::attention};

TracedRun alone(const MaskAxes& axes, bool batched) {
  return {{{0, {kGrouped}, kAttention}}, axes, batched};
}

// Layers 3 and 4 of a pre-norm encoder of width 8 and its last norm; the last
// layer stops after attention where `whole` is false.
TracedRun two_layers(bool whole, bool last_norm) {
  const LayerSizes sizes{{8, 8, 8, 2, 2, 4, 4}, 16};
  const LayerSettings pre{.norm = NormPlacement::pre};
  const LayerSettings last{.norm = NormPlacement::pre,
                           .part = whole ? Part::layer : Part::attention};
  return {{{3, sizes, pre}, {4, sizes, last}}, {2, 2, 5, 5}, true, last_norm};
}

std::vector<std::string> names_of(const TracedRun& run, const std::vector<RunStep>& steps) {
  std::vector<std::string> names;
  for (const RunStep& step : steps) names.push_back(run.name_of(step));
  return names;
}

}  // namespace

TEST_CASE("steps of a run have the batch axis of x") {
  const TracedRun item = alone({1, 6, 3, 4}, false);
  const TracedRun batch = alone({2, 6, 3, 4}, true);
  CHECK(item.shape_of({0, Step::scores}) == Shape{6, 3, 4});
  CHECK(batch.shape_of({0, Step::scores}) == Shape{2, 6, 3, 4});
  CHECK(batch.shape_of({0, Step::k}) == Shape{2, 2, 4, 5});
  CHECK(batch.shape_of({0, Step::concat}) == Shape{2, 3, 42});
  for (const TracedRun& run : {item, batch}) {
    CHECK(run.heads_of({0, Step::k}) == 2);
    CHECK(run.heads_of({0, Step::maps}) == 6);
    CHECK(run.heads_of({0, Step::concat}) == 1);
  }
}

TEST_CASE("steps are named in any order and computed in one") {
  const TracedRun run = alone({1, 6, 3, 4}, false);
  CHECK(names_of(run, steps_named({"maps", "q", "scores", "q"}, run, "--trace-only")) ==
        std::vector<std::string>{"q", "scores", "maps"});
  CHECK(steps_named({}, run, "--trace-only") == run.steps());
}

TEST_CASE("an unknown step is refused with the nearest") {
  const TracedRun run = alone({1, 6, 3, 4}, false);
  CHECK(error_of([&] {
          steps_named({"q", "socres"}, run, "--trace-only");
        }) ==
        "--trace-only: 'socres' is no step, did you mean scores? (the steps are x, q, k, v, "
        "scores, maps, head_outputs, concat, contributions, attention_output)");
  CHECK(error_of([&] {
          steps_named({"ffn_hidden"}, run, "t.npz");
        }).find("t.npz: 'ffn_hidden' is no step") == 0);
}

TEST_CASE("the steps of a stack belong to their layer by name, its output to none") {
  const TracedRun run = two_layers(true, true);
  const std::vector<std::string> names = names_of(run, run.steps());
  REQUIRE(names.size() == 36);
  CHECK(names[0] == "layers.3.x");
  CHECK(names[1] == "layers.3.norm1");
  CHECK(names[16] == "layers.3.y");
  CHECK(names[17] == "layers.4.x");
  CHECK(names[34] == "norm");
  CHECK(names[35] == "y");
  CHECK(run.shape_of({1, Step::ffn_hidden}) == Shape{2, 5, 16});
  CHECK(run.shape_of({2, Step::norm}) == Shape{2, 5, 8});
  CHECK(run.heads_of({2, Step::y}) == 1);
  CHECK(run.maps_shape(2) == Shape{2, 2, 2, 5, 5});
}

TEST_CASE("the last layer may stop after attention") {
  const TracedRun run = two_layers(false, false);
  const std::vector<std::string> names = names_of(run, run.steps());
  REQUIRE(names.size() == 29);
  CHECK(names[27] == "layers.4.attention_output");
  CHECK(names[28] == "y");
}

TEST_CASE("pre-norm steps keep their order however they are named") {
  const TracedRun run = two_layers(true, false);
  CHECK(names_of(run, steps_named({"layers.3.q", "layers.3.norm1", "layers.3.x"}, run, "")) ==
        std::vector<std::string>{"layers.3.x", "layers.3.norm1", "layers.3.q"});
}
