#include "support/naive_layer.h"

#include <cmath>

namespace mha::naive {
namespace {

double activate(Activation activation, double x) {
  const double pi = std::acos(-1.0);
  switch (activation) {
    case Activation::relu: return x > 0.0 ? x : 0.0;
    case Activation::gelu: return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x *
             (1.0 + std::tanh(std::sqrt(2.0 / pi) * (x + 0.044715 * std::pow(x, 3.0))));
    case Activation::quick_gelu: return x / (1.0 + std::exp(-1.702 * x));
    case Activation::silu: return x / (1.0 + std::exp(-x));
  }
  return x;
}

// Each row of `in` [rows, depth] times W [depth, width], plus bias.
std::vector<double> linear(const std::vector<double>& in, const std::vector<double>& W,
                           const std::vector<double>& bias, std::size_t depth,
                           std::size_t width) {
  std::vector<double> out;
  for (std::size_t i = 0; i < in.size() / depth; ++i) {
    for (std::size_t c = 0; c < width; ++c) {
      double sum = bias.empty() ? 0.0 : bias[c];
      for (std::size_t d = 0; d < depth; ++d) sum += in[i * depth + d] * W[d * width + c];
      out.push_back(sum);
    }
  }
  return out;
}

std::vector<double> sum_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
  return sum;
}

}  // namespace

std::vector<double> normalise(const Norm& norm, const LayerSettings& settings,
                              std::size_t width, const std::vector<double>& x) {
  if (norm.weight.empty()) return x;
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size() / width; ++i) {
    double mean = 0.0;
    if (settings.norm_type == NormType::layer) {
      for (std::size_t c = 0; c < width; ++c) mean += x[i * width + c];
      mean /= static_cast<double>(width);
    }
    double variance = 0.0;
    for (std::size_t c = 0; c < width; ++c) {
      variance += (x[i * width + c] - mean) * (x[i * width + c] - mean);
    }
    variance /= static_cast<double>(width);
    for (std::size_t c = 0; c < width; ++c) {
      const double normal = (x[i * width + c] - mean) / std::sqrt(variance + settings.eps);
      out.push_back(normal * norm.weight[c] + (norm.bias.empty() ? 0.0 : norm.bias[c]));
    }
  }
  return out;
}

LayerSteps encode(const EncoderLayer& layer, std::size_t batch, std::size_t n,
                  const std::vector<double>& x, const std::vector<char>& drop) {
  const LayerSettings& settings = layer.settings;
  const FeedForward& ffn = layer.feed_forward;
  const std::size_t d_model = layer.attention.d_model;
  const bool pre = settings.norm == NormPlacement::pre;
  LayerSteps steps;
  steps.x = x;
  if (pre) steps.norm1 = normalise(layer.norm1, settings, d_model, x);
  const std::vector<double>& read = pre ? steps.norm1 : x;
  Input input;
  input.batch = batch;
  input.n_queries = input.n_keys = n;
  input.x = input.key = input.value = read;
  input.drop = drop;
  input.add.resize(drop.size());
  steps.attention = attend(layer.attention, input);
  steps.y = steps.attention.y;
  if (settings.part == Part::attention) return steps;

  steps.residual1 = sum_of(x, steps.attention.y);
  if (pre) {
    steps.norm2 = normalise(layer.norm2, settings, d_model, steps.residual1);
  } else {
    steps.norm1 = normalise(layer.norm1, settings, d_model, steps.residual1);
  }
  const std::vector<double>& entering = pre ? steps.norm2 : steps.norm1;
  steps.ffn_hidden = linear(entering, ffn.W_1, ffn.b_1, d_model, ffn.d_ff);
  if (ffn.gated) {
    const std::vector<double> gate = linear(entering, ffn.W_G, ffn.b_G, d_model, ffn.d_ff);
    for (std::size_t i = 0; i < gate.size(); ++i) {
      steps.ffn_hidden[i] *= activate(settings.activation, gate[i]);
    }
  } else {
    for (double& value : steps.ffn_hidden) value = activate(settings.activation, value);
  }
  steps.ffn_output = linear(steps.ffn_hidden, ffn.W_2, ffn.b_2, ffn.d_ff, d_model);
  steps.residual2 = sum_of(pre ? steps.residual1 : steps.norm1, steps.ffn_output);
  if (!pre) steps.norm2 = normalise(layer.norm2, settings, d_model, steps.residual2);
  steps.y = pre ? steps.residual2 : steps.norm2;
  return steps;
}

}  // namespace mha::naive
