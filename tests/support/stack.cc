#include "support/stack.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "catch.h"
#include "support/scenario.h"

namespace mha {
namespace {

std::vector<double> normal(std::size_t count, double mean, double deviation,
                           std::mt19937& random) {
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<double> values(count);
  for (double& value : values) {
    value = static_cast<double>(static_cast<float>(distribution(random)));
  }
  return values;
}

template <typename T>
Tensor<T> tensor_or_none(Shape shape, const std::vector<double>& values) {
  return values.empty() ? Tensor<T>() : tensor_of<T>(std::move(shape), values);
}

template <typename T>
NormWeights<T> norm_of(const naive::Norm& norm) {
  return {tensor_or_none<T>({norm.weight.size()}, norm.weight),
          tensor_or_none<T>({norm.bias.size()}, norm.bias)};
}

// What a layer may not attend to: the stack's mask and its own direction.
std::vector<char> dropped(const Stack& stack, const naive::EncoderLayer& layer) {
  std::vector<char> drop;
  for (std::size_t b = 0; b < stack.batch; ++b) {
    for (std::size_t h = 0; h < layer.attention.n_heads; ++h) {
      for (std::size_t i = 0; i < stack.n; ++i) {
        for (std::size_t j = 0; j < stack.n; ++j) {
          const bool masked =
              !stack.drop.empty() && stack.drop[(b * stack.n + i) * stack.n + j] != 0;
          const bool ahead = layer.settings.attention.causal != Causal::off && j > i;
          drop.push_back(masked || ahead ? 1 : 0);
        }
      }
    }
  }
  return drop;
}

template <typename T>
void check_values(const std::string& name, std::span<const T> found,
                  const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  double size = 0.0;
  for (const double value : expected) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto value = static_cast<double>(found[i]);
    if (value == expected[i]) continue;  // -Inf of both, too
    const double difference = std::abs(value - expected[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN stays
  }
  INFO(name << " differs by " << largest << " from numbers up to " << size);
  CHECK(largest <= tolerance * size);
}

}  // namespace

naive::EncoderLayer random_layer(const StackSizes& sizes, const LayerSettings& settings,
                                 bool gated, std::mt19937& random) {
  ScenarioSizes attention;
  attention.d_model = attention.d_key = attention.d_value = sizes.d_model;
  attention.n_heads = attention.n_kv_heads = sizes.n_heads;
  attention.d_head = attention.d_v = sizes.d_head;
  attention.biases = sizes.biases;
  naive::EncoderLayer layer;
  layer.attention = random_scenario(attention, random).layer;
  layer.settings = settings;
  layer.norm1 = random_norm(sizes, random);
  layer.norm2 = random_norm(sizes, random);
  naive::FeedForward& ffn = layer.feed_forward;
  ffn.d_ff = sizes.d_ff;
  ffn.gated = gated;
  const auto weights = [&](std::size_t in, std::size_t out) {
    return normal(in * out, 0.0, 1.0 / std::sqrt(static_cast<double>(in)), random);
  };
  ffn.W_1 = weights(sizes.d_model, sizes.d_ff);
  if (gated) ffn.W_G = weights(sizes.d_model, sizes.d_ff);
  ffn.W_2 = weights(sizes.d_ff, sizes.d_model);
  if (!sizes.biases) return layer;
  ffn.b_1 = normal(sizes.d_ff, 0.0, 0.5, random);
  if (gated) ffn.b_G = normal(sizes.d_ff, 0.0, 0.5, random);
  ffn.b_2 = normal(sizes.d_model, 0.0, 0.5, random);
  return layer;
}

naive::Norm random_norm(const StackSizes& sizes, std::mt19937& random) {
  naive::Norm norm{normal(sizes.d_model, 1.0, 0.3, random)};
  if (sizes.biases) norm.bias = normal(sizes.d_model, 0.0, 0.3, random);
  return norm;
}

std::vector<double> random_x(const StackSizes& sizes, std::mt19937& random) {
  return normal(sizes.batch * sizes.n * sizes.d_model, 0.0, 1.0, random);
}

template <typename T>
Layer<T> layer_of(const naive::EncoderLayer& layer) {
  const naive::FeedForward& ffn = layer.feed_forward;
  const std::size_t d_model = layer.attention.d_model;
  Layer<T> result;
  result.settings = layer.settings;
  Scenario scenario;
  scenario.layer = layer.attention;
  result.attention = weights_of<T>(scenario);
  result.norm1 = norm_of<T>(layer.norm1);
  result.norm2 = norm_of<T>(layer.norm2);
  result.feed_forward = {
      tensor_or_none<T>({d_model, ffn.d_ff}, ffn.W_1), tensor_or_none<T>({ffn.d_ff}, ffn.b_1),
      tensor_or_none<T>({d_model, ffn.d_ff}, ffn.W_G), tensor_or_none<T>({ffn.d_ff}, ffn.b_G),
      tensor_or_none<T>({ffn.d_ff, d_model}, ffn.W_2), tensor_or_none<T>({d_model}, ffn.b_2)};
  return result;
}

template <typename T>
Encoder<T> encoder_of(const Stack& stack) {
  Encoder<T> encoder;
  for (const naive::EncoderLayer& layer : stack.layers) {
    encoder.layers.push_back(layer_of<T>(layer));
    encoder.layers.back().index = encoder.layers.size() - 1;
  }
  encoder.norm = norm_of<T>(stack.norm);
  return encoder;
}

template <typename T>
StackRecorder<T>::StackRecorder(const Encoder<T>& encoder, const MaskAxes& axes)
    : stack_({Step::norm, Step::y}, encoder.layers.back().sizes(), axes) {
  for (const Layer<T>& layer : encoder.layers) {
    layers_.emplace_back(steps_of(layer.settings), layer.sizes(), axes);
  }
}

template <typename T>
WatchedStack<T> watch(const Encoder<T>& encoder, const Mask<T>& mask, const Tensor<T>& x) {
  const AttentionInputs<T> inputs = {x, x, x};
  StackRecorder<T> steps(encoder,
                         check_inputs(encoder.layers.front().attention.sizes, inputs));
  AttentionFindings findings;
  Tensor<T> y = encode(encoder, mask, inputs, steps, findings);
  return {std::move(y), std::move(steps), findings};
}

template <typename T>
void check_against_reference(const Stack& stack, double tolerance) {
  const std::size_t d_model = stack.layers.front().attention.d_model;
  Mask<T> mask;
  if (!stack.drop.empty()) {
    mask.drop.push_back(broadcast_mask(
        tensor_of<std::uint8_t>({stack.batch, 1, stack.n, stack.n},
                                {stack.drop.begin(), stack.drop.end()}),
        {stack.batch, stack.layers.front().attention.n_heads, stack.n, stack.n}, "drop"));
  }
  // A batch of one has no axis for it.
  const Shape shape =
      stack.batch > 1 ? Shape{stack.batch, stack.n, d_model} : Shape{stack.n, d_model};
  auto run = watch<T>(encoder_of<T>(stack), mask, tensor_of<T>(shape, stack.x));
  CHECK(run.y.shape() == shape);

  std::vector<double> x = stack.x;
  std::size_t empty_rows = 0;
  StackRecorder<T>& steps = run.steps;
  for (std::size_t place = 0; place < stack.layers.size(); ++place) {
    const naive::EncoderLayer& layer = stack.layers[place];
    const auto expected = naive::encode(layer, stack.batch, stack.n, x, dropped(stack, layer));
    const auto check = [&](Step step, const std::vector<double>& values) {
      check_values<T>("layer " + std::to_string(place) + ": " + std::string(name_of(step)),
                      steps.layer(place).at(step).values(), values, tolerance);
    };
    const naive::Steps& attention = expected.attention;
    check(Step::x, expected.x);
    check(Step::q, attention.q);
    check(Step::k, attention.k);
    check(Step::v, attention.v);
    check(Step::scores, attention.scores);
    check(Step::maps, attention.maps);
    check(Step::head_outputs, attention.head_outputs);
    check(Step::concat, attention.concat);
    check(Step::contributions, attention.contributions);
    check(Step::attention_output, attention.y);
    const bool whole = layer.settings.part == Part::layer;
    if (whole || layer.settings.norm == NormPlacement::pre) check(Step::norm1, expected.norm1);
    if (whole) {
      check(Step::residual1, expected.residual1);
      check(Step::ffn_hidden, expected.ffn_hidden);
      check(Step::ffn_output, expected.ffn_output);
      check(Step::residual2, expected.residual2);
      check(Step::norm2, expected.norm2);
      check(Step::y, expected.y);
    }
    x = expected.y;
    empty_rows += attention.empty_rows;
  }
  if (!stack.norm.weight.empty()) {
    x = naive::normalise(stack.norm, stack.layers.back().settings, d_model, x);
    check_values<T>("norm", steps.stack().at(Step::norm).values(), x, tolerance);
  }
  check_values<T>("y of the stack", steps.stack().at(Step::y).values(), x, tolerance);
  check_values<T>("what encode() returns", run.y.values(), x, tolerance);
  CHECK(run.findings.empty_rows == empty_rows);
}

template Layer<float> layer_of(const naive::EncoderLayer&);
template Layer<double> layer_of(const naive::EncoderLayer&);
template Encoder<float> encoder_of(const Stack&);
template Encoder<double> encoder_of(const Stack&);
template class StackRecorder<float>;
template class StackRecorder<double>;
template WatchedStack<float> watch(const Encoder<float>&, const Mask<float>&,
                                   const Tensor<float>&);
template WatchedStack<double> watch(const Encoder<double>&, const Mask<double>&,
                                    const Tensor<double>&);
template void check_against_reference<float>(const Stack&, double);
template void check_against_reference<double>(const Stack&, double);

}  // namespace mha
