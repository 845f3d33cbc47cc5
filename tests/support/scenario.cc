#include "support/scenario.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "catch.h"
#include "layer/latent.h"
#include "support/recorder.h"

namespace mha {
namespace {

std::vector<double> normal(std::size_t count, double deviation, std::mt19937& random) {
  std::normal_distribution<double> distribution(0.0, deviation);
  std::vector<double> values(count);
  for (double& value : values) {
    value = static_cast<double>(static_cast<float>(distribution(random)));
  }
  return values;
}

// [heads, in, out] to [in, heads * out].
template <typename T>
Tensor<T> side_by_side(const std::vector<double>& W, std::size_t heads, std::size_t in,
                       std::size_t out) {
  Tensor<T> result({in, heads * out});
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t j = 0; j < out; ++j) {
        result.matrix()(i, h * out + j) = static_cast<T>(W[(h * in + i) * out + j]);
      }
    }
  }
  return result;
}

template <typename T>
Tensor<T> bias(const std::vector<double>& values) {
  return values.empty() ? Tensor<T>() : tensor_of<T>({values.size()}, values);
}

bool hidden_by_position(const Scenario& scenario, std::size_t query, std::size_t key) {
  const auto i = static_cast<long>(query);
  const auto j = static_cast<long>(key);
  const long shift =
      static_cast<long>(scenario.input.n_keys) - static_cast<long>(scenario.input.n_queries);
  const AttentionSettings& settings = scenario.settings;
  // How far the key is behind the query.
  const long distance = j - i - (settings.causal == Causal::end ? shift : 0);
  if (settings.causal != Causal::off && distance > 0) return true;
  return settings.window && std::labs(distance) > static_cast<long>(*settings.window);
}

// The largest finite number.
double size_of_numbers(const std::vector<double>& values) {
  double size = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  }
  return size;
}

template <typename T>
void check_step(const char* name, std::span<const T> found,
                const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  std::size_t worst = 0;
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(found[i]);
    // Hidden scores are -Inf on both sides, and nothing else is.
    double difference = value == expected[i] ? 0.0 : std::abs(value - expected[i]);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > largest) {
      largest = difference;
      worst = i;
    }
  }
  INFO(name << ": element " << worst << " of " << expected.size() << " is " << found[worst]
            << ", expected " << expected[worst]);
  CHECK(largest <= tolerance);
}

}  // namespace

template <typename T>
Tensor<T> tensor_of(Shape shape, const std::vector<double>& values) {
  Tensor<T> tensor(std::move(shape));
  REQUIRE(tensor.size() == values.size());
  std::transform(values.begin(), values.end(), tensor.data(),
                 [](double value) { return static_cast<T>(value); });
  return tensor;
}

Scenario random_scenario(const ScenarioSizes& s, std::mt19937& random) {
  Scenario scenario;
  naive::Layer& layer = scenario.layer;
  layer = {s.d_model, s.d_key, s.d_value, s.n_heads, s.n_kv_heads, s.d_head, s.d_v};
  const auto weights = [&](std::size_t heads, std::size_t in, std::size_t out) {
    return normal(heads * in * out, 1.0 / std::sqrt(static_cast<double>(in)), random);
  };
  layer.W_Q = weights(s.n_heads, s.d_model, s.d_head);
  layer.W_K = weights(s.n_kv_heads, s.d_key, s.d_head);
  layer.W_V = weights(s.n_kv_heads, s.d_value, s.d_v);
  layer.W_O = weights(s.n_heads, s.d_v, s.d_model);
  if (s.biases) {
    layer.b_Q = normal(s.n_heads * s.d_head, 0.5, random);
    layer.b_K = normal(s.n_kv_heads * s.d_head, 0.5, random);
    layer.b_V = normal(s.n_kv_heads * s.d_v, 0.5, random);
    layer.b_O = normal(s.d_model, 0.5, random);
  }
  layer.scale = 1.0 / std::sqrt(static_cast<double>(s.d_head));
  if (s.bias_key) {
    layer.bias_k = normal(s.n_kv_heads * s.d_head, 1.0, random);
    layer.bias_v = normal(s.n_kv_heads * s.d_v, 1.0, random);
  }
  layer.zero_key = s.zero_key;
  layer.buckets = s.buckets;
  layer.relative = normal(s.buckets * s.n_heads, 1.0, random);
  if (s.kv_rank > 0) {
    naive::Latents& latents = layer.latents;
    const std::size_t of_q = s.q_rank > 0 ? s.q_rank : s.d_model;
    const std::size_t d_nope = s.d_head - s.d_rope;
    latents.q_rank = s.q_rank;
    latents.kv_rank = s.kv_rank;
    latents.d_rope = s.d_rope;
    latents.W_DQ = weights(1, s.d_model, s.q_rank);
    latents.q_norm = normal(s.q_rank, 1.0, random);
    latents.W_UQ = weights(s.n_heads, of_q, d_nope);
    latents.W_QR = weights(s.n_heads, of_q, s.d_rope);
    latents.W_DKV = weights(1, s.d_model, s.kv_rank);
    latents.kv_norm = normal(s.kv_rank, 1.0, random);
    latents.W_UK = weights(s.n_heads, s.kv_rank, d_nope);
    latents.W_UV = weights(s.n_heads, s.kv_rank, s.d_v);
    latents.W_KR = weights(1, s.d_model, s.d_rope);
  }
  naive::Input& input = scenario.input;
  input.batch = s.batch;
  input.n_queries = s.n_queries;
  input.n_keys = s.n_keys;
  input.x = normal(s.batch * s.n_queries * s.d_model, 1.0, random);
  input.key = normal(s.batch * s.n_keys * s.d_key, 1.0, random);
  input.value = normal(s.batch * s.n_keys * s.d_value, 1.0, random);
  if (s.kv_rank > 0) input.value = input.key;
  return scenario;
}

Scenario::Values random_drop(Shape shape, double share, std::mt19937& random) {
  std::bernoulli_distribution dropped(share);
  std::vector<double> values(element_count(shape));
  for (double& value : values) value = dropped(random) ? 1.0 : 0.0;
  return {std::move(shape), std::move(values)};
}

Scenario::Values random_add(Shape shape, std::mt19937& random) {
  std::vector<double> values = normal(element_count(shape), 2.0, random);
  for (double& value : values) {
    if (value > 4.0) value = -std::numeric_limits<double>::infinity();  // a few
  }
  return {std::move(shape), std::move(values)};
}

naive::Steps reference(const Scenario& scenario) {
  naive::Input input = scenario.input;
  const auto at = [](const Scenario::Values& mask, std::size_t b, std::size_t h, std::size_t i,
                     std::size_t j) {
    const Shape& s = mask.shape;
    return mask.values[(((b % s[0]) * s[1] + h % s[1]) * s[2] + i % s[2]) * s[3] + j % s[3]];
  };
  for (std::size_t b = 0; b < input.batch; ++b) {
    for (std::size_t h = 0; h < scenario.layer.n_heads; ++h) {
      for (std::size_t i = 0; i < input.n_queries; ++i) {
        for (std::size_t j = 0; j < input.n_keys; ++j) {
          bool drop = hidden_by_position(scenario, i, j);
          drop = drop || (!scenario.key_lengths.empty() && j >= scenario.key_lengths[b]);
          double add = 0.0;
          for (const auto& mask : scenario.drop) drop = drop || at(mask, b, h, i, j) != 0.0;
          for (const auto& mask : scenario.add) add += at(mask, b, h, i, j);
          input.drop.push_back(drop ? 1 : 0);
          input.add.push_back(add);
        }
      }
    }
  }
  naive::Layer layer = scenario.layer;
  if (scenario.settings.scale) layer.scale = *scenario.settings.scale;
  layer.softcap = scenario.settings.softcap;
  layer.early_fusion = scenario.settings.early_fusion;
  layer.relative_distance = scenario.settings.relative_distance;
  layer.turn = scenario.settings.rope == Rope::none     ? naive::Turn::none
               : scenario.settings.rope == Rope::halves ? naive::Turn::halves
                                                        : naive::Turn::neighbours;
  layer.theta = scenario.settings.rope_theta;
  layer.latents.eps = scenario.settings.latent_eps;
  if (scenario.settings.causal == Causal::end) {
    const std::size_t last = std::max(input.n_queries, input.n_keys);
    input.first_query = last - input.n_queries;
    input.first_key = last - input.n_keys;
  }
  return naive::attend(layer, input);
}

template <typename T>
void read_latents(const naive::Layer& layer, AttentionWeights<T>& weights) {
  const naive::Latents& latents = layer.latents;
  AttentionSizes& sizes = weights.sizes;
  sizes.q_rank = latents.q_rank;
  sizes.kv_rank = latents.kv_rank;
  sizes.d_rope = latents.d_rope;
  const std::size_t of_q = sizes.q_rank > 0 ? sizes.q_rank : sizes.d_model;
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  for (auto* unread :
       {&weights.W_Q, &weights.W_K, &weights.W_V, &weights.b_Q, &weights.b_K, &weights.b_V}) {
    *unread = Tensor<T>();
  }
  LatentWeights<T>& to = weights.latent.emplace();
  if (sizes.q_rank > 0) {
    to.W_DQ = tensor_of<T>({sizes.d_model, sizes.q_rank}, latents.W_DQ);
    to.q_latent_norm = bias<T>(latents.q_norm);
  }
  to.W_UQ = side_by_side<T>(latents.W_UQ, sizes.n_heads, of_q, d_nope);
  to.W_DKV = tensor_of<T>({sizes.d_model, sizes.kv_rank}, latents.W_DKV);
  to.kv_latent_norm = bias<T>(latents.kv_norm);
  to.W_UK = side_by_side<T>(latents.W_UK, sizes.n_heads, sizes.kv_rank, d_nope);
  to.W_UV = side_by_side<T>(latents.W_UV, sizes.n_heads, sizes.kv_rank, sizes.d_v);
  if (sizes.d_rope == 0) return;
  to.W_QR = side_by_side<T>(latents.W_QR, sizes.n_heads, of_q, sizes.d_rope);
  to.W_KR = tensor_of<T>({sizes.d_model, sizes.d_rope}, latents.W_KR);
}

template <typename T>
AttentionWeights<T> weights_of(const Scenario& scenario) {
  const naive::Layer& layer = scenario.layer;
  AttentionWeights<T> weights;
  weights.sizes = {layer.d_model,    layer.d_key,  layer.d_value, layer.n_heads,
                   layer.n_kv_heads, layer.d_head, layer.d_v};
  weights.W_Q = side_by_side<T>(layer.W_Q, layer.n_heads, layer.d_model, layer.d_head);
  weights.W_K = side_by_side<T>(layer.W_K, layer.n_kv_heads, layer.d_key, layer.d_head);
  weights.W_V = side_by_side<T>(layer.W_V, layer.n_kv_heads, layer.d_value, layer.d_v);
  weights.W_O = tensor_of<T>({layer.n_heads * layer.d_v, layer.d_model}, layer.W_O);
  weights.b_Q = bias<T>(layer.b_Q);
  weights.b_K = bias<T>(layer.b_K);
  weights.b_V = bias<T>(layer.b_V);
  weights.b_O = bias<T>(layer.b_O);
  weights.sizes.bias_key = !layer.bias_k.empty();
  weights.sizes.zero_key = layer.zero_key;
  weights.bias_k = bias<T>(layer.bias_k);
  weights.bias_v = bias<T>(layer.bias_v);
  if (layer.buckets > 0) {
    weights.relative_bias = tensor_of<T>({layer.buckets, layer.n_heads}, layer.relative);
  }
  if (layer.latents.kv_rank > 0) read_latents(layer, weights);
  return weights;
}

template <typename T>
Mask<T> mask_of(const Scenario& scenario) {
  const MaskAxes axes = {scenario.input.batch, scenario.layer.n_heads,
                         scenario.input.n_queries, scenario.input.n_keys};
  Mask<T> mask;
  for (const auto& [shape, values] : scenario.drop) {
    mask.drop.push_back(broadcast_mask(tensor_of<std::uint8_t>(shape, values), axes, "drop"));
  }
  for (const auto& [shape, values] : scenario.add) {
    mask.add.push_back(broadcast_mask(tensor_of<T>(shape, values), axes, "add"));
  }
  mask.key_lengths = scenario.key_lengths;
  return mask;
}

template <typename T>
void check_against_reference(const Scenario& scenario) {
  constexpr double kMaps = sizeof(T) == 4 ? 1e-6 : 1e-13;
  constexpr double kOthers = sizeof(T) == 4 ? 5e-6 : 1e-13;
  const naive::Input& input = scenario.input;
  const naive::Layer& layer = scenario.layer;
  const auto x = tensor_of<T>({input.batch, input.n_queries, layer.d_model}, input.x);
  const auto key = tensor_of<T>({input.batch, input.n_keys, layer.d_key}, input.key);
  const auto value = tensor_of<T>({input.batch, input.n_keys, layer.d_value}, input.value);
  const bool latent = layer.latents.kv_rank > 0;
  const AttentionInputs<T> inputs = {x, key, latent ? key : value};
  const Mask<T> mask = mask_of<T>(scenario);
  const auto run = watch<T>(weights_of<T>(scenario), scenario.settings, mask, inputs);
  const naive::Steps expected = reference(scenario);
  const auto check = [&](Step step, const std::vector<double>& values) {
    check_step<T>(std::string(name_of(step)).c_str(), run.steps.at(step).values(), values,
                  kOthers * size_of_numbers(values));
  };
  check_step<T>("y", run.y.values(), expected.y, kOthers * size_of_numbers(expected.y));
  check(Step::q, expected.q);
  check(Step::k, expected.k);
  check(Step::v, expected.v);
  check(Step::scores, expected.scores);
  check_step<T>("maps", run.steps.at(Step::maps).values(), expected.maps,
                kMaps * std::max(1.0, size_of_numbers(expected.scores) / 10.0));
  check(Step::head_outputs, expected.head_outputs);
  check(Step::concat, expected.concat);
  check(Step::contributions, expected.contributions);
  check(Step::attention_output, expected.y);
  CHECK(run.findings.empty_rows == expected.empty_rows);
  if (!latent) return;

  AttentionWeights<T> absorbed = weights_of<T>(scenario);
  AttentionSettings settings = scenario.settings;
  absorb(absorbed, settings);
  const auto other = watch<T>(absorbed, settings, mask, inputs);
  check_step<T>("absorbed maps", other.steps.at(Step::maps).values(), expected.maps,
                kMaps * std::max(1.0, size_of_numbers(expected.scores) / 10.0));
  check_step<T>("absorbed y", other.y.values(), expected.y,
                kOthers * size_of_numbers(expected.y));
}

template Tensor<float> tensor_of(Shape, const std::vector<double>&);
template Tensor<double> tensor_of(Shape, const std::vector<double>&);
template AttentionWeights<float> weights_of(const Scenario&);
template AttentionWeights<double> weights_of(const Scenario&);
template Mask<float> mask_of(const Scenario&);
template Mask<double> mask_of(const Scenario&);
template void check_against_reference<float>(const Scenario&);
template void check_against_reference<double>(const Scenario&);

}  // namespace mha
