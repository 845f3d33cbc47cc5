// What users of a whole layer ran into, on RAMP's layer with the values that a
// float64 computation gives (six decimals), and what encode() refuses.
#include "layer/encoder.h"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "support/error_of.h"
#include "support/ramp.h"
#include "support/stack.h"

namespace mha {
namespace {

// One unit of the sixth decimal; f32 adds a few units of its own.
template <typename T>
void check_values(MatrixView<T> found, const std::vector<double>& expected) {
  REQUIRE(found.rows * found.cols == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto value = static_cast<double>(found(i / found.cols, i % found.cols));
    INFO("element " << i << " is " << value << ", expected " << expected[i]);
    CHECK(std::abs(value - expected[i]) <= (sizeof(T) == 4 ? 2e-6 : 1e-6));
  }
}

template <typename T>
Encoder<T> ramp_encoder(const LayerSettings& settings = {}) {
  Encoder<T> encoder;
  encoder.layers.push_back(ramp::layer<T>());
  encoder.layers.front().settings = settings;
  return encoder;
}

LayerSettings activated(Activation activation) {
  LayerSettings settings;
  settings.activation = activation;
  return settings;
}

// Every weight of a tensor.
void fill(Tensor<float>& tensor, float value) {
  std::fill_n(tensor.data(), tensor.size(), value);
}

// RAMP in f32 whose norm1 gives 10 for every element.
Layer<float> layer_of_tens() {
  auto layer = ramp::layer<float>();
  fill(layer.norm1.weight, 0.0F);
  fill(layer.norm1.bias, 10.0F);
  return layer;
}

std::string refusal(Layer<float> layer, const Tensor<float>& x = ramp::x<float>()) {
  Encoder<float> encoder;
  encoder.layers.push_back(std::move(layer));
  return error_of([&] { watch<float>(encoder, {}, x); });
}

}  // namespace

TEMPLATE_TEST_CASE("RAMP's layer tells the two GELUs apart", "", float, double) {
  const auto x = ramp::x<TestType>();
  const auto gelu =
      watch<TestType>(ramp_encoder<TestType>(activated(Activation::gelu)), {}, x);
  check_values(gelu.y.matrix(), {-1.128259, -.598049, .200108, 1.526199, 1.687583, -.832956,
                                 -.642980, -.211647, .467204, 1.413557, -1.026727, -.854034});
  const auto by_tanh =
      watch<TestType>(ramp_encoder<TestType>(activated(Activation::gelu_tanh)), {}, x);
  check_values(by_tanh.y.matrix().row_block(0, 1), {-1.128398, -.597949, .200227, 1.526120});
}

TEMPLATE_TEST_CASE("an eps of PyTorch and one of BERT differ where numbers are small", "",
                   float, double) {
  const auto [eps, expected] =
      GENERATE(std::pair{1e-12, std::vector{.317228, .415228, .634456, .530456}},
               std::pair{1e-5, std::vector{.142421, .240421, .284843, .180843}});
  LayerSettings settings;
  settings.norm = NormPlacement::pre;
  settings.eps = eps;
  auto encoder = ramp_encoder<TestType>(settings);
  AttentionWeights<TestType>& attention = encoder.layers.front().attention;
  attention.W_O = Tensor<TestType>::zeros({4, 4});
  attention.b_O = Tensor<TestType>();
  const auto x = ramp::tensor<TestType>({1, 4}, {.001, -.001, .002, -.002});
  check_values(watch<TestType>(encoder, {}, x).y.matrix(), expected);
}

TEMPLATE_TEST_CASE("a constant row becomes the bias of the norm, not NaN", "", float, double) {
  LayerSettings settings;
  settings.norm = NormPlacement::pre;
  settings.eps = GENERATE(1e-5, 0.0);
  auto encoder = ramp_encoder<TestType>(settings);
  const std::vector<double> bias = {.5, 1, 0, -1};
  encoder.layers.front().norm1.bias = ramp::tensor<TestType>({4}, bias);
  const auto x = ramp::tensor<TestType>({2, 4}, {.1, .1, .1, .1, 0, 0, 0, 0});
  auto run = watch<TestType>(encoder, {}, x);
  for (const std::size_t row : {0, 1}) {
    check_values(run.steps.layer(0).at(Step::norm1).matrix().row_block(row, 1), bias);
  }
  for (const TestType value : run.y.values()) CHECK(std::isfinite(value));
}

TEMPLATE_TEST_CASE("a query with every key masked passes the layer on its own numbers", "",
                   float, double) {
  const auto placement = GENERATE(NormPlacement::post, NormPlacement::pre);
  LayerSettings settings;
  settings.norm = placement;
  const auto encoder = ramp_encoder<TestType>(settings);
  const auto x = ramp::x<TestType>();
  Mask<TestType> mask;
  mask.drop.push_back(broadcast_mask(
      ramp::tensor<std::uint8_t>({3, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0}), {1, 2, 3, 3}, "mask"));
  auto run = watch<TestType>(encoder, mask, x);
  const auto plain = watch<TestType>(encoder, {}, x);
  CHECK(run.findings.empty_rows == 2);  // one query, both heads
  check_values(run.steps.layer(0).at(Step::residual1).matrix().row_block(1, 1),
               {1.01, -.98, -.47, .04});  // x + b_O
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(std::isfinite(run.y.matrix()(i, j)));
      if (i != 1) CHECK(run.y.matrix()(i, j) == plain.y.matrix()(i, j));
    }
  }
}

TEMPLATE_TEST_CASE("a layer's maps are its attention's, pre-norm of the normalised input", "",
                   float, double) {
  const auto x = ramp::x<TestType>();
  const auto weights = ramp::weights<TestType>();
  const auto maps_alone = [&](const Tensor<TestType>& read) {
    return watch<TestType>(weights, {}, {}, {read, read, read}).steps;
  };
  const auto same_maps = [](const Recorder<TestType>& a, const Recorder<TestType>& b) {
    const auto maps = a.at(Step::maps).values();
    return std::equal(maps.begin(), maps.end(), b.at(Step::maps).values().begin());
  };
  LayerSettings settings;
  auto post = watch<TestType>(ramp_encoder<TestType>(settings), {}, x);
  CHECK(same_maps(post.steps.layer(0), maps_alone(x)));
  check_values(
      post.steps.layer(0).at(Step::maps).matrix(0),
      {.309484, .344114, .346402, .402798, .302560, .294642, .424895, .292159, .282946});
  settings.norm = NormPlacement::pre;
  auto pre = watch<TestType>(ramp_encoder<TestType>(settings), {}, x);
  Tensor<TestType> normed({3, 4});
  const auto kept = pre.steps.layer(0).at(Step::norm1).values();
  std::copy(kept.begin(), kept.end(), normed.data());
  CHECK(same_maps(pre.steps.layer(0), maps_alone(normed)));
  CHECK(!same_maps(pre.steps.layer(0), maps_alone(x)));
}

TEMPLATE_TEST_CASE("large inputs stay finite through the layer", "", float, double) {
  auto values = ramp::kX;
  for (double& value : values) value *= 1e6;
  LayerSettings settings = activated(GENERATE(Activation::gelu, Activation::quick_gelu));
  settings.norm = GENERATE(NormPlacement::post, NormPlacement::pre);
  const auto x = ramp::tensor<TestType>({3, 4}, values);
  const auto run = watch<TestType>(ramp_encoder<TestType>(settings), {}, x);
  for (const TestType value : run.y.values()) CHECK(std::isfinite(value));
}

TEST_CASE("attention alone may read keys and values of its own") {
  const auto x = ramp::x<float>();
  const auto key = ramp::tensor<float>({2, 4}, {0, .5, 1, -1, -.5, -1, 1, .5});
  LayerSettings settings;
  settings.part = Part::attention;
  const auto encoder = ramp_encoder<float>(settings);
  StackObserver<float> nobody;
  AttentionFindings findings;
  const auto y = encode<float>(encoder, {}, {x, key, key}, nobody, findings);
  const auto alone = watch<float>(ramp::weights<float>(), {}, {}, {x, key, key});
  CHECK(std::equal(y.values().begin(), y.values().end(), alone.y.values().begin()));
}

TEST_CASE("a step that overflows f32 is named") {
  const std::string rest = ", row 0 overflow f32; f64 may hold them";
  auto layer = layer_of_tens();
  CHECK(refusal(std::move(layer)) == "no error");

  layer = layer_of_tens();
  fill(layer.attention.b_O, 3e38F);
  auto x = ramp::x<float>();
  x.matrix()(1, 2) = 3e38F;
  for (auto* W : {&layer.attention.W_Q, &layer.attention.W_K, &layer.attention.W_V}) {
    fill(*W, 0.0F);
  }
  CHECK(refusal(std::move(layer), x) ==
        "the numbers of residual1, row 1 overflow f32; f64 may hold them");

  layer = layer_of_tens();
  fill(layer.norm1.weight, 3e38F);
  CHECK(refusal(std::move(layer)) == "the numbers of norm1" + rest);
  layer = layer_of_tens();
  fill(layer.feed_forward.W_1, 3e38F);
  CHECK(refusal(std::move(layer)) == "the numbers of ffn_hidden" + rest);
  layer = layer_of_tens();
  fill(layer.feed_forward.W_2, 3e38F);
  CHECK(refusal(std::move(layer)) == "the numbers of ffn_output" + rest);
  layer = layer_of_tens();
  fill(layer.norm1.bias, 3e38F);
  fill(layer.feed_forward.W_1, 0.0F);
  fill(layer.feed_forward.b_2, 3e38F);
  CHECK(refusal(std::move(layer)) == "the numbers of residual2" + rest);
  layer = layer_of_tens();
  fill(layer.norm2.weight, 3e38F);
  CHECK(refusal(std::move(layer)) == "the numbers of norm2" + rest);
}

TEST_CASE("an overflow of one of several layers names the layer, and its item and row") {
  Encoder<float> encoder;
  for (const std::size_t index : {4, 5}) {  // that hand x on as it is
    encoder.layers.push_back(ramp::layer<float>());
    Layer<float>& layer = encoder.layers.back();
    layer.index = index;
    layer.norm1 = {};
    layer.norm2 = {};
    for (auto* W : {&layer.attention.W_Q, &layer.attention.W_K, &layer.attention.W_O,
                    &layer.attention.b_O, &layer.feed_forward.W_2}) {
      fill(*W, 0.0F);
    }
  }
  encoder.layers[1].attention.b_O.data()[0] = 3e38F;
  auto x = Tensor<float>::zeros({2, 601, 4});
  x.matrix(1)(600, 0) = 3e38F;  // far from the first block of rows
  const auto run = [&] { watch<float>(encoder, {}, x); };
  CHECK(error_of(run) ==
        "layer 5: the numbers of residual1, item 1, row 600 overflow f32; f64 may hold them");
}

TEST_CASE("what a watcher throws passes through several layers as it is") {
  struct FullDisk final : StackObserver<float>, Observer<float> {
    Observer<float>& layer(std::size_t) override { return *this; }
    bool wants(Step) const override { return true; }
    void rows(Step, const Place&, ConstMatrixView<float>) override {
      throw Error("maps.npy: no space left", Fault::system);
    }
  } observer;
  auto encoder = ramp_encoder<float>();
  encoder.layers.push_back(ramp::layer<float>());
  const auto x = ramp::x<float>();
  AttentionFindings findings;
  const auto run = [&] { encode<float>(encoder, {}, {x, x, x}, observer, findings); };
  CHECK(error_of(run) == "maps.npy: no space left");
  CHECK(fails_with(Fault::system, run));
}

TEST_CASE("an overflow passes where that is wanted, and f64 holds it") {
  LayerSettings settings;
  settings.attention.allow_nonfinite = true;
  auto encoder = ramp_encoder<float>(settings);
  fill(encoder.layers.front().feed_forward.W_2, 3e38F);
  fill(encoder.layers.front().norm2.weight, 3e38F);
  encoder.norm.weight = ramp::tensor<float>({4}, {1, 1, 1, 1});
  const auto passed = watch<float>(encoder, {}, ramp::x<float>());
  CHECK(!std::isfinite(passed.y.data()[0]));

  auto wide = ramp_encoder<double>();
  std::fill_n(wide.layers.front().feed_forward.W_2.data(), 32, 3e38);
  const auto held = watch<double>(wide, {}, ramp::x<double>());
  for (const double value : held.y.values()) CHECK(std::isfinite(value));
}

TEST_CASE("an input that does not fit is refused once for all layers") {
  auto encoder = ramp_encoder<float>();
  encoder.layers.push_back(ramp::layer<float>());
  const auto x = Tensor<float>::zeros({3, 5});
  StackObserver<float> nobody;
  AttentionFindings findings;
  CHECK(error_of([&] {
          encode<float>(encoder, {}, {x, x, x}, nobody, findings);
        }) == "input: rows are 5 wide, expected 4 (d_model)");
}

}  // namespace mha
