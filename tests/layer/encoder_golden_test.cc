// What PyTorch makes of encoder layers and stacks (tests/golden/README.md).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "catch.h"
#include "support/golden.h"
#include "support/stack.h"

namespace mha {
namespace {

// Rows [first, first + outputs) of an nn.Linear's weight [outputs, inputs], as
// our W [inputs, outputs]; empty where there is none.
template <typename T>
Tensor<T> linear(const Archive& golden, const std::string& name, std::size_t first = 0,
                 std::size_t outputs = 0) {
  if (golden.find(name) == nullptr) return {};
  const auto weight = read<T>(golden, name);
  if (outputs == 0) outputs = weight.shape()[0];
  Tensor<T> W({weight.shape()[1], outputs});
  for (std::size_t i = 0; i < outputs; ++i) {
    for (std::size_t j = 0; j < weight.shape()[1]; ++j) {
      W.matrix()(j, i) = weight.matrix()(first + i, j);
    }
  }
  return W;
}

// Elements [first, first + count) of a vector; empty where there is none.
template <typename T>
Tensor<T> vector(const Archive& golden, const std::string& name, std::size_t first = 0,
                 std::size_t count = 0) {
  if (golden.find(name) == nullptr) return {};
  const auto whole = read<T>(golden, name);
  if (count == 0) count = whole.size();
  Tensor<T> part({count});
  std::copy_n(whole.data() + first, count, part.data());
  return part;
}

template <typename T>
NormWeights<T> norm(const Archive& golden, const std::string& name) {
  return {vector<T>(golden, name + ".weight"), vector<T>(golden, name + ".bias")};
}

template <typename Value>
Value setting(const Archive& golden, const std::string& name) {
  return value_named<Value>(golden.settings.at("setting." + name)).value();
}

template <typename T>
Layer<T> layer(const Archive& golden, std::size_t index) {
  const std::string prefix = "layers." + std::to_string(index) + ".";
  const std::string packed = prefix + "self_attn.in_proj_";
  const std::size_t d_model = golden.at("x").shape.back();
  const std::size_t n_heads = std::stoul(golden.settings.at("setting.n_heads"));
  const std::size_t d_head = d_model / n_heads;
  Layer<T> result;
  result.index = index;
  result.settings.attention.causal = setting<Causal>(golden, "causal");
  result.settings.norm = setting<NormPlacement>(golden, "norm");
  result.settings.norm_type = setting<NormType>(golden, "norm_type");
  result.settings.activation = setting<Activation>(golden, "activation");
  result.settings.eps = std::stod(golden.settings.at("setting.eps"));
  AttentionWeights<T>& attention = result.attention;
  attention.sizes = {d_model, d_model, d_model, n_heads, n_heads, d_head, d_head};
  attention.W_Q = linear<T>(golden, packed + "weight", 0, d_model);
  attention.W_K = linear<T>(golden, packed + "weight", d_model, d_model);
  attention.W_V = linear<T>(golden, packed + "weight", 2 * d_model, d_model);
  attention.W_O = linear<T>(golden, prefix + "self_attn.out_proj.weight");
  attention.b_Q = vector<T>(golden, packed + "bias", 0, d_model);
  attention.b_K = vector<T>(golden, packed + "bias", d_model, d_model);
  attention.b_V = vector<T>(golden, packed + "bias", 2 * d_model, d_model);
  attention.b_O = vector<T>(golden, prefix + "self_attn.out_proj.bias");
  result.norm1 = norm<T>(golden, prefix + "norm1");
  result.norm2 = norm<T>(golden, prefix + "norm2");
  result.feed_forward = {linear<T>(golden, prefix + "linear1.weight"),
                         vector<T>(golden, prefix + "linear1.bias"),
                         linear<T>(golden, prefix + "gate.weight"),
                         vector<T>(golden, prefix + "gate.bias"),
                         linear<T>(golden, prefix + "linear2.weight"),
                         vector<T>(golden, prefix + "linear2.bias")};
  return result;
}

template <typename T>
Encoder<T> encoder(const Archive& golden) {
  Encoder<T> result;
  const auto has = [&](std::size_t index) {
    return golden.find("layers." + std::to_string(index) + ".norm1.weight") != nullptr;
  };
  for (std::size_t index = 0; has(index); ++index) {
    result.layers.push_back(layer<T>(golden, index));
  }
  result.norm = norm<T>(golden, "norm");
  return result;
}

template <typename T>
WatchedStack<T> run(const Archive& golden, const Encoder<T>& layers) {
  const auto x = read<T>(golden, "x");
  const MaskAxes axes = check_inputs<T>(layers.layers.front().attention.sizes, {x, x, x});
  return watch(layers, read_mask<T>(golden, axes), x);
}

Archive open_golden(const std::string& name) {
  return open_archive(source_path("tests/golden/layers/" + name + ".npz"));
}

template <typename T>
double difference(const Tensor<T>& found, const Tensor<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double one = std::abs(static_cast<double>(found.data()[i]) - expected.data()[i]);
    if (!(one <= largest)) largest = one;  // a NaN stays
  }
  return largest;
}

// How far y moves from PyTorch's where each layer is changed so.
template <typename Change>
double moved_by(const std::string& name, Change change) {
  const Archive golden = open_golden(name);
  auto layers = encoder<double>(golden);
  for (Layer<double>& one : layers.layers) change(one);
  return difference(run(golden, layers).y, read<double>(golden, "expected.y"));
}

// Ours is PyTorch's within 1e-13; another convention is at least this far off.
constexpr double kOtherConvention = 1e-4;

}  // namespace

TEMPLATE_TEST_CASE("PyTorch's layers and stacks are ours, step by step", "", float, double) {
  std::size_t steps = 0;
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/golden/layers"))) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    ++files;
    const Archive golden = open_golden(name);
    auto result = run(golden, encoder<TestType>(golden));
    // PyTorch computed in double. Numbers reach 5, and two layers of sums of a
    // dozen terms are behind them.
    const double tolerance = sizeof(TestType) == 4 ? 5e-6 : 1e-13;
    CHECK(difference(result.y, read<double>(golden, "expected.y")) <= tolerance);
    CHECK(difference(result.steps.stack().at(Step::y), read<double>(golden, "expected.y")) <=
          tolerance);
    for (const Member& member : golden.members) {
      if (!member.name.starts_with("expected.layers.")) continue;
      const std::size_t index = std::stoul(member.name.substr(16));
      const auto step = step_named(member.name.substr(member.name.rfind('.') + 1));
      CAPTURE(member.name);
      CHECK(difference(result.steps.layer(index).at(step.value()),
                       read<double>(golden, member.name)) <= tolerance);
      ++steps;
    }
  }
  CHECK(files == 19);
  CHECK(steps == 24 * 6);  // of five stacks two layers, six steps a layer
}

TEST_CASE("a whole layer's maps are those of its attention, of what it reads") {
  const std::string name = GENERATE("post_gelu", "pre_gelu");
  const Archive golden = open_golden(name);
  const auto layers = encoder<double>(golden);
  auto result = run(golden, layers);
  const auto x = read<double>(golden, name == "post_gelu" ? "x" : "expected.layers.0.norm1");
  const auto alone = watch<double>(layers.layers.front().attention, {}, {}, {x, x, x}).steps;
  CHECK(difference(result.steps.layer(0).at(Step::maps), alone.at(Step::maps)) <= 1e-14);
}

TEST_CASE("conventions that are taken for another move the numbers") {
  using Layer = Layer<double>;
  const auto activation = [](Activation other) {
    return [other](Layer& layer) { layer.settings.activation = other; };
  };
  CHECK(moved_by("pre_gelu", activation(Activation::gelu)) < 1e-13);
  CHECK(moved_by("pre_gelu", activation(Activation::gelu_tanh)) > kOtherConvention);
  CHECK(moved_by("pre_gelu", activation(Activation::quick_gelu)) > kOtherConvention);
  CHECK(moved_by("quick_gelu", activation(Activation::silu)) > kOtherConvention);
  CHECK(moved_by("gelu_tanh", activation(Activation::gelu)) > kOtherConvention);
  CHECK(moved_by("post_relu", activation(Activation::gelu)) > kOtherConvention);
  for (const std::string name : {"post_relu", "pre_gelu"}) {
    CHECK(moved_by(name, [](Layer& layer) {
            layer.settings.norm = layer.settings.norm == NormPlacement::pre
                                      ? NormPlacement::post
                                      : NormPlacement::pre;
          }) > kOtherConvention);
    CHECK(moved_by(name, [](Layer& layer) { layer.settings.norm_type = NormType::rms; }) >
          kOtherConvention);
  }
  CHECK(moved_by("gelu_gated", [](Layer& layer) {  // the other half activated
          std::swap(layer.feed_forward.W_1, layer.feed_forward.W_G);
          std::swap(layer.feed_forward.b_1, layer.feed_forward.b_G);
        }) > kOtherConvention);
  // Variances are around 1: 1e-5 beside them is seen in the sixth digit.
  CHECK(moved_by("small_eps", [](Layer& layer) { layer.settings.eps = 1e-5; }) > 1e-6);
  CHECK(moved_by("post_relu", [](Layer& layer) { layer.settings.eps = 1e-12; }) > 1e-6);
  // Dividing the variance by d_model - 1 makes the weights smaller by the root of it.
  CHECK(moved_by("post_relu", [](Layer& layer) {
          for (auto* norm : {&layer.norm1, &layer.norm2}) {
            for (double& weight : norm->weight.values()) weight *= std::sqrt(7.0 / 8.0);
          }
        }) > kOtherConvention);
}

TEST_CASE("the last norm runs where there is one and is shown") {
  const Archive golden = open_golden("stack_pre_norm");
  auto layers = encoder<double>(golden);
  auto with = run(golden, layers);
  CHECK(difference(with.steps.stack().at(Step::norm), read<double>(golden, "expected.y")) <
        1e-13);
  layers.norm = {};
  const auto without = run(golden, layers);
  CHECK(difference(without.y, with.steps.layer(1).at(Step::y)) == 0.0);
  CHECK(difference(without.y, with.y) > kOtherConvention);
}

}  // namespace mha
