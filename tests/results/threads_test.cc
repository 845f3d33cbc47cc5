// A layer on several threads, with all that watches it, against one thread.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "files/archive.h"
#include "files/whole_file.h"
#include "layer/attention.h"
#include "results/maps_file.h"
#include "results/report.h"
#include "results/sink.h"
#include "support/error_of.h"
#include "support/scenario.h"
#include "support/simd_guard.h"
#include "support/temp_folder.h"

namespace mha {
namespace {

bool same_bits(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), sizeof(float) * a.values().size()) == 0);
}

struct Inputs {
  explicit Inputs(const Scenario& scenario)
      : weights(weights_of<float>(scenario)),
        mask(mask_of<float>(scenario)),
        x(tensor_of<float>({2, scenario.input.n_queries, weights.sizes.d_model},
                           scenario.input.x)),
        key(tensor_of<float>({2, scenario.input.n_keys, weights.sizes.d_key},
                             scenario.input.key)),
        value(tensor_of<float>({2, scenario.input.n_keys, weights.sizes.d_value},
                               scenario.input.value)) {}
  AttentionWeights<float> weights;
  Mask<float> mask;
  Tensor<float> x, key, value;
};

struct Run {
  Tensor<float> y, scores, maps, from_file;
  std::string report;
  AttentionFindings findings;
};

// With `watched`, scores and maps go to sinks of every kind at once.
Run run(const Inputs& inputs, const AttentionSettings& settings, bool watched) {
  const AttentionSizes& sizes = inputs.weights.sizes;
  const Shape shape{2, sizes.n_heads, inputs.x.shape()[1], inputs.key.shape()[1]};
  const TempFolder folder;
  WholeFile file(folder / "maps.npy");
  NpyStream<float> stream(file, shape, sizes.n_heads);
  Collect<float> scores(shape, sizes.n_heads, "scores");
  Collect<float> maps(shape, sizes.n_heads, "maps");
  Excerpt<float> excerpt(shape, sizes.n_heads, {});
  SelectHeads<float> selected(sizes.n_heads, {}, false);
  selected.add(maps);
  Sinks<float> sinks;
  if (watched) {
    sinks.add(Step::scores, scores);
    sinks.add(Step::maps, stream);
    sinks.add(Step::maps, excerpt);
    sinks.add(Step::maps, selected);
    REQUIRE(sinks.any_order(Step::maps));
  }
  Run result;
  result.y = attention<float>(inputs.weights, settings, inputs.mask,
                              {inputs.x, inputs.key, inputs.value}, sinks, result.findings);
  if (!watched) return result;
  file.commit();
  const Archive archive = open_archive(folder / "maps.npy");
  result.from_file = read_tensor<float>(archive, archive.at(""));
  result.scores = scores.take();
  result.maps = maps.take();
  result.report = excerpt.matrix_text(1, {}, {});
  return result;
}

// 5 million operations, so that threads are worth it; rows in two ranges.
Scenario scenario_of(std::size_t kind) {
  std::mt19937 random(static_cast<unsigned>(kind));
  ScenarioSizes sizes{2, 150, 130, 40, 40, 40, 4, 2, 16, 12};
  if (kind == 2) sizes.buckets = 8;
  Scenario scenario = random_scenario(sizes, random);
  if (kind == 1) {
    scenario.settings.causal = Causal::end;
    scenario.drop.push_back(random_drop({2, 1, 1, 130}, 0.3, random));
    scenario.key_lengths = {130, 60};
  }
  if (kind == 2) {
    scenario.settings.relative_distance = 20;
    scenario.settings.softcap = 3.0;
    scenario.settings.window = 9;
    scenario.add.push_back(random_add({1, 4, 150, 130}, random));
  }
  return scenario;
}

}  // namespace

TEST_CASE("a layer gives the same bytes on any number of threads, watched or not") {
  const ThreadsGuard guard;
  const std::size_t kind = GENERATE(0, 1, 2);
  const Scenario scenario = scenario_of(kind);
  const Inputs inputs(scenario);
  const Run expected = run(inputs, scenario.settings, true);
  CHECK(same_bits(expected.from_file, expected.maps));
  for (const std::size_t threads : {1, 2, 3, 4}) {
    use_threads(threads);
    for (const bool watched : {false, true}) {
      const Run found = run(inputs, scenario.settings, watched);
      CAPTURE(kind, threads, watched);
      CHECK(same_bits(found.y, expected.y));
      CHECK(found.findings.empty_rows == expected.findings.empty_rows);
      CHECK(found.findings.leaking_keys == expected.findings.leaking_keys);
      if (!watched) continue;
      CHECK(same_bits(found.scores, expected.scores));
      CHECK(same_bits(found.maps, expected.maps));
      CHECK(same_bits(found.from_file, expected.from_file));
      CHECK(found.report == expected.report);
    }
  }
}

TEST_CASE("a layer on four threads agrees with the reference") {
  const ThreadsGuard guard;
  use_threads(4);
  check_against_reference<float>(scenario_of(GENERATE(0, 1, 2)));
}

TEST_CASE("what a sink throws on another thread comes out of the layer") {
  class Full final : public Sink<float> {
   public:
    void rows(const Place& place, ConstMatrixView<float>) override {
      if (place.head == 3) throw Error("maps.npy: cannot write", Fault::system);
    }
    bool any_order() const override { return true; }
  };
  const ThreadsGuard guard;
  use_threads(4);
  const Scenario scenario = scenario_of(0);
  const Inputs inputs(scenario);
  Full full;
  Sinks<float> sinks;
  sinks.add(Step::maps, full);
  AttentionFindings findings;
  CHECK(error_of([&] {
          attention<float>(inputs.weights, scenario.settings, inputs.mask,
                           {inputs.x, inputs.key, inputs.value}, sinks, findings);
        }) == "maps.npy: cannot write");
}

}  // namespace mha
