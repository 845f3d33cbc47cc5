// What a head report says is held to the steps of the run and to runs without each head.
#include "results/watch_heads.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "catch.h"
#include "heads/measure_heads.h"
#include "support/scenario.h"
#include "support/stack.h"

namespace mha {
namespace {

template <typename T>
TracedRun run_of(const Encoder<T>& encoder, const MaskAxes& axes) {
  TracedRun run;
  for (const Layer<T>& layer : encoder.layers) {
    run.layers.push_back({layer.index, layer.sizes(), layer.settings});
  }
  run.axes = axes;
  run.batched = axes.batch > 1;
  run.last_norm = !encoder.norm.weight.empty();
  return run;
}

struct Setting {
  StackSizes sizes;
  std::size_t layers = 2;
  Part last = Part::layer;
  LayerSettings settings{};
};

Stack stack_of(const Setting& setting, std::mt19937& random) {
  Stack stack;
  stack.batch = setting.sizes.batch;
  stack.n = setting.sizes.n;
  for (std::size_t i = 0; i < setting.layers; ++i) {
    LayerSettings settings = setting.settings;
    if (i + 1 == setting.layers) settings.part = setting.last;
    stack.layers.push_back(random_layer(setting.sizes, settings, false, random));
  }
  stack.x = random_x(setting.sizes, random);
  return stack;
}

template <typename T>
struct Reported {
  std::vector<HeadInRun> heads;
  Tensor<T> y;
};

template <typename T>
Reported<T> report(Encoder<T>& encoder, const Mask<T>& mask, const Tensor<T>& x,
                   const MaskAxes& axes, const std::vector<std::size_t>& ablated = {}) {
  const TracedRun run = run_of(encoder, axes);
  WatchHeads<T> heads({run, encoder, mask, {x, x, x}, {}, ablated});
  StackSinks<T> sinks(encoder.layers.size());
  heads.watch(sinks);
  AttentionFindings findings;
  Tensor<T> y = encode<T>(encoder, mask, {x, x, x}, sinks, findings);
  return {heads.heads(y), std::move(y)};
}

template <typename T>
double norm(ConstMatrixView<T> rows) {
  double sum = 0.0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t j = 0; j < rows.cols; ++j) {
      sum += static_cast<double>(rows(i, j)) * static_cast<double>(rows(i, j));
    }
  }
  return std::sqrt(sum);
}

// Every head of the report against all steps of the run and runs without the head.
template <typename T>
void check_report(Encoder<T>& encoder, const Mask<T>& mask, const Tensor<T>& x,
                  const MaskAxes& axes, const std::vector<std::size_t>& queries) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;
  const auto near = [&](double a, double b) { return std::abs(a - b) <= tolerance; };
  WatchedStack<T> watched = watch<T>(encoder, mask, x);
  const Reported<T> reported = report<T>(encoder, mask, x, axes);
  REQUIRE(reported.heads.size() == encoder.layers.size() * axes.n_heads);
  for (std::size_t place = 0; place < encoder.layers.size(); ++place) {
    const auto& steps = watched.steps.layer(place);
    MeasureHeads expected(axes.n_heads);
    for (std::size_t item = 0; item < axes.batch; ++item) {
      std::vector<ConstMatrixView<T>> maps;
      for (std::size_t head = 0; head < axes.n_heads; ++head) {
        maps.push_back(steps.at(Step::maps)
                           .matrix(item * axes.n_heads + head)
                           .row_block(0, queries[item]));
      }
      expected.rows(0, std::span<const ConstMatrixView<T>>(maps), {queries[item]});
    }
    const Tensor<double> distances = expected.distances();
    for (std::size_t head = 0; head < axes.n_heads; ++head) {
      const HeadInRun& found = reported.heads[place * axes.n_heads + head];
      CAPTURE(place, head);
      double share = 0.0;
      double ablation = 0.0;
      Tensor<T>& W_O = encoder.layers[place].attention.W_O;
      const std::vector<T> kept(W_O.data(), W_O.data() + W_O.size());
      ablate(encoder.layers[place].attention, {head});
      StackObserver<T> nobody;
      AttentionFindings unread;
      const Tensor<T> y = encode<T>(encoder, mask, {x, x, x}, nobody, unread);
      std::ranges::copy(kept, W_O.data());
      for (std::size_t item = 0; item < axes.batch; ++item) {
        const auto rows = [&](const Tensor<T>& tensor, std::size_t matrix) {
          return tensor.matrix(matrix).row_block(0, queries[item]);
        };
        share += norm(rows(steps.at(Step::contributions), item * axes.n_heads + head)) /
                 norm(rows(steps.at(Step::attention_output), item));
        ablation += change_of<T>(rows(watched.y, item), rows(y, item)).relative;
      }
      const auto items = static_cast<double>(axes.batch);
      CHECK(near(found.share, share / items));
      CHECK(near(found.ablation, ablation / items));
      CHECK(found.ablation > 0.01);
      CHECK(found.map.rows == expected.measures(head).rows);
      CHECK(near(found.map.entropy, expected.measures(head).entropy));
      CHECK(near(found.map.entropy_share, expected.measures(head).entropy_share));
      CHECK(near(found.map.self, expected.measures(head).self));
      CHECK(found.map.pattern == expected.measures(head).pattern);
      REQUIRE(found.nearest.has_value());
      CHECK(*found.nearest == nearest_head(distances.matrix(), head));
      CHECK(near(found.distance, distances.matrix()(head, *found.nearest)));
      CHECK(found.head == head);
    }
  }
  CHECK(std::ranges::equal(reported.y.values(), watched.y.values()));
}

}  // namespace

TEMPLATE_TEST_CASE("a head report is what the steps and runs without a head say", "", float,
                   double) {
  std::mt19937 random(8);
  Setting setting;
  setting.sizes = {1, 7, 8, 3, 4, 12};
  SECTION("of a stack of whole layers") {}
  SECTION("of a batch") { setting.sizes.batch = 3; }
  SECTION("of a sequence that is done in blocks") { setting.sizes.n = 300; }
  SECTION("of pre-norm layers, causal") {
    setting.settings.norm = NormPlacement::pre;
    setting.settings.attention.causal = Causal::start;
  }
  SECTION("of a stack that stops after attention") { setting.last = Part::attention; }
  SECTION("of attention alone") {
    setting.layers = 1;
    setting.last = Part::attention;
  }
  SECTION("of heads that are fused early") { setting.settings.attention.early_fusion = true; }
  const Stack stack = stack_of(setting, random);
  Encoder<TestType> encoder = encoder_of<TestType>(stack);
  const StackSizes& sizes = setting.sizes;
  const MaskAxes axes = {sizes.batch, sizes.n_heads, sizes.n, sizes.n};
  const auto x = tensor_of<TestType>({sizes.batch, sizes.n, sizes.d_model}, stack.x);
  check_report<TestType>(encoder, {}, x, axes, std::vector<std::size_t>(sizes.batch, sizes.n));
}

TEST_CASE("padding is left out of a head report, in whichever block it begins") {
  std::mt19937 random(12);
  Setting setting;
  setting.layers = 1;
  setting.sizes = {2, 300, 8, 2, 4, 12};
  const Stack stack = stack_of(setting, random);
  Encoder<float> encoder = encoder_of<float>(stack);
  const auto x = tensor_of<float>({2, 300, 8}, stack.x);
  Mask<float> mask;
  mask.key_lengths = {290, 3};
  check_report<float>(encoder, mask, x, {2, 2, 300, 300}, {290, 3});
}

TEST_CASE("padding is left out of a head report") {
  std::mt19937 random(9);
  Setting setting;
  setting.sizes = {2, 6, 8, 2, 4, 12};
  const Stack stack = stack_of(setting, random);
  Encoder<double> encoder = encoder_of<double>(stack);
  const auto x = tensor_of<double>({2, 6, 8}, stack.x);
  Mask<double> mask;
  mask.key_lengths = {6, 4};
  check_report<double>(encoder, mask, x, {2, 2, 6, 6}, {6, 4});
  SECTION("down to a sequence that is nothing else") {
    mask.key_lengths = {0, 6};
    const auto reported = report<double>(encoder, mask, x, {2, 2, 6, 6});
    for (const HeadInRun& head : reported.heads) {
      CHECK(head.map.rows == 6);
      CHECK(std::isfinite(head.share));
      CHECK(std::isfinite(head.ablation));
    }
  }
}

TEST_CASE("ablated heads are said to be so, and change nothing") {
  std::mt19937 random(10);
  Setting setting;
  const Stack stack = stack_of(setting, random);
  Encoder<double> encoder = encoder_of<double>(stack);
  for (Layer<double>& layer : encoder.layers) ablate(layer.attention, {1});
  const auto x = tensor_of<double>({1, 5, 8}, stack.x);
  const auto reported = report<double>(encoder, {}, x, {1, 2, 5, 5}, {1});
  REQUIRE(reported.heads.size() == 4);
  CHECK_FALSE(reported.heads[0].ablated);
  CHECK(reported.heads[1].ablated);
  CHECK(reported.heads[1].share == 0.0);
  CHECK(reported.heads[1].ablation == 0.0);
  CHECK(std::isnan(reported.heads[1].cosine));
  CHECK(std::abs(reported.heads[0].cosine) > 0.0);
}

TEST_CASE("a cosine is 1 for the only head of an output without bias") {
  std::mt19937 random(11);
  Setting setting;
  setting.sizes.n_heads = 1;
  setting.sizes.biases = false;
  setting.layers = 1;
  const Stack stack = stack_of(setting, random);
  Encoder<double> encoder = encoder_of<double>(stack);
  const auto x = tensor_of<double>({1, 5, 8}, stack.x);
  const auto reported = report<double>(encoder, {}, x, {1, 1, 5, 5});
  CHECK(std::abs(reported.heads[0].cosine - 1.0) < 1e-12);
  CHECK(std::abs(reported.heads[0].share - 1.0) < 1e-12);
  CHECK_FALSE(reported.heads[0].nearest.has_value());
  CHECK_FALSE(reported.heads[0].layer.has_value());
}

TEST_CASE("the last query of a cache stands at the last key") {
  // Queries of two tokens over four keys: all weight on the key before.
  Encoder<double> encoder;
  encoder.layers.resize(1);
  Layer<double>& layer = encoder.layers.front();
  layer.settings.part = Part::attention;
  layer.settings.attention.causal = Causal::end;
  AttentionWeights<double>& weights = layer.attention;
  weights.sizes = {2, 4, 4, 1, 1, 4, 1};
  weights.W_Q = tensor_of<double>({2, 4}, {0, 99, 0, 0, 0, 0, 99, 0});
  weights.W_K = tensor_of<double>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  weights.W_V = tensor_of<double>({4, 1}, {1, 2, 3, 4});
  weights.W_O = tensor_of<double>({1, 2}, {1, 1});
  const auto x = tensor_of<double>({2, 2}, {1, 0, 0, 1});
  const auto keys =
      tensor_of<double>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const TracedRun run = run_of(encoder, {1, 1, 2, 4});
  const Mask<double> mask;
  WatchHeads<double> heads({run, encoder, mask, {x, keys, keys}, {}, {}});
  StackSinks<double> sinks(1);
  heads.watch(sinks);
  AttentionFindings findings;
  const Tensor<double> y = encode<double>(encoder, mask, {x, keys, keys}, sinks, findings);
  const HeadInRun head = heads.heads(y).front();
  CHECK(head.map.pattern == HeadPattern::previous);
  CHECK(std::abs(head.map.previous - 1.0) < 1e-9);
}

}  // namespace mha
