#include "checkpoint/torch_init.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "base/error.h"
#include "base/memory.h"

namespace mha {
namespace {

// The bounds of the distributions, in the operations of torch.nn.init, whose
// rounding they share.

// kaiming_uniform_(a=sqrt(5)), 1 / sqrt(fan_in) but for rounding (He et al. 2015)
double kaiming_bound(std::size_t fan_in) {
  const double a = std::sqrt(5.0);
  const double gain = std::sqrt(2.0 / (1.0 + a * a));
  return std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(fan_in)));
}
// xavier_normal_ (Glorot & Bengio 2010)
double xavier_std(std::size_t fan_in, std::size_t fan_out) {
  return std::sqrt(2.0 / static_cast<double>(fan_in + fan_out));
}
double xavier_bound(std::size_t fan_in, std::size_t fan_out) {
  return std::sqrt(3.0) * xavier_std(fan_in, fan_out);
}

// PyTorch draws a weight as [out, in] and computes x W^T; ours is [in, out].
Tensor<float> draw_weight(TorchRandom& random, std::size_t in, std::size_t out, double bound) {
  Tensor<float> drawn({out, in});
  random.uniform(drawn.values(), -bound, bound);
  Tensor<float> weight({in, out});
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t i = 0; i < in; ++i) {
      weight.data()[i * out + o] = drawn.data()[o * in + i];
    }
  }
  return weight;
}

// nn.Linear: the weight, then the bias, which stays empty where there is none.
void draw_linear(TorchRandom& random, std::size_t in, std::size_t out, bool bias,
                 Tensor<float>& W, Tensor<float>& b) {
  W = draw_weight(random, in, out, kaiming_bound(in));
  if (!bias) return;
  b = Tensor<float>({out});
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  random.uniform(b.values(), -bound, bound);
}

AttentionWeights<float> draw_four_linear(const TorchArguments& arguments,
                                         TorchRandom& random) {
  const std::size_t d_model = arguments.d_model;
  AttentionWeights<float> weights;
  draw_linear(random, d_model, d_model, arguments.bias, weights.W_Q, weights.b_Q);
  draw_linear(random, d_model, d_model, arguments.bias, weights.W_K, weights.b_K);
  draw_linear(random, d_model, d_model, arguments.bias, weights.W_V, weights.b_V);
  draw_linear(random, d_model, d_model, arguments.bias, weights.W_O, weights.b_O);
  return weights;
}

// out_proj is made first, as an nn.Linear whose bias is then set to 0;
// _reset_parameters() follows, with in_proj_weight in one where queries, keys
// and values are of one width.
AttentionWeights<float> draw_multihead(const TorchArguments& arguments, std::size_t d_key,
                                       std::size_t d_value, TorchRandom& random) {
  const std::size_t d_model = arguments.d_model;
  AttentionWeights<float> weights;
  draw_linear(random, d_model, d_model, arguments.bias, weights.W_O, weights.b_O);
  const bool packed = d_key == d_model && d_value == d_model;
  const auto draw = [&](std::size_t in) {
    return draw_weight(random, in, d_model, xavier_bound(in, packed ? 3 * d_model : d_model));
  };
  weights.W_Q = draw(d_model);
  weights.W_K = draw(d_key);
  weights.W_V = draw(d_value);
  if (arguments.bias) {
    weights.b_Q = Tensor<float>::zeros({d_model});
    weights.b_K = Tensor<float>::zeros({d_model});
    weights.b_V = Tensor<float>::zeros({d_model});
    weights.b_O = Tensor<float>::zeros({d_model});
  }
  if (arguments.bias_key) {
    for (Tensor<float>* bias : {&weights.bias_k, &weights.bias_v}) {
      *bias = Tensor<float>({d_model});
      random.normal(bias->values(), 0.0, xavier_std(d_model, d_model));
    }
  }
  return weights;
}

NormWeights<float> fresh_norm(const TorchArguments& arguments) {
  NormWeights<float> norm;
  norm.weight = Tensor<float>({arguments.d_model});
  std::ranges::fill(norm.weight.values(), 1.0F);
  if (arguments.bias) norm.bias = Tensor<float>::zeros({arguments.d_model});
  return norm;
}

Layer<float> draw_layer(const TorchArguments& arguments, TorchRandom& random) {
  const std::size_t d_model = arguments.d_model;
  const std::size_t d_head = d_model / arguments.n_heads;
  const bool own_widths = arguments.module == TorchModule::multihead_attention;
  const std::size_t d_key = own_widths && arguments.d_key != 0 ? arguments.d_key : d_model;
  const std::size_t d_value =
      own_widths && arguments.d_value != 0 ? arguments.d_value : d_model;
  Layer<float> layer;
  layer.attention = arguments.module == TorchModule::four_linear
                        ? draw_four_linear(arguments, random)
                        : draw_multihead(arguments, d_key, d_value, random);
  AttentionSizes& sizes = layer.attention.sizes;
  sizes.d_model = d_model;
  sizes.d_key = d_key;
  sizes.d_value = d_value;
  sizes.n_heads = sizes.n_kv_heads = arguments.n_heads;
  sizes.d_head = sizes.d_v = d_head;
  sizes.bias_key = arguments.bias_key;
  sizes.zero_key = arguments.zero_key;
  layer.settings.part = Part::attention;
  if (arguments.module != TorchModule::transformer_encoder_layer) return layer;
  layer.settings.part = Part::layer;
  layer.settings.norm = arguments.norm;
  layer.settings.activation = arguments.activation;
  FeedForwardWeights<float>& ffn = layer.feed_forward;
  draw_linear(random, d_model, arguments.d_ff, arguments.bias, ffn.W_1, ffn.b_1);
  draw_linear(random, arguments.d_ff, d_model, arguments.bias, ffn.W_2, ffn.b_2);
  layer.norm1 = fresh_norm(arguments);
  layer.norm2 = fresh_norm(arguments);
  return layer;
}

// Sizes that fit each other, and into memory.
void require_sizes(const TorchArguments& arguments) {
  const bool whole = arguments.module == TorchModule::transformer_encoder_layer;
  for (const auto& [name, size] : {std::pair("d_model", arguments.d_model),
                                   {"n_heads", arguments.n_heads},
                                   {"d_ff", whole ? arguments.d_ff : 1},
                                   {"the number of layers", arguments.n_layers}}) {
    if (size == 0) throw Error(std::string(name) + " is 0, expected 1 or more");
  }
  if (arguments.d_model % arguments.n_heads != 0) {
    throw Error("n_heads " + std::to_string(arguments.n_heads) + " does not divide d_model " +
                std::to_string(arguments.d_model));
  }
  // The matrices of a layer are d_model wide or high; in double, since products
  // of such numbers fit no integer. One is held twice while it is turned.
  const double highest = 4.0 * static_cast<double>(arguments.d_model) +
                         static_cast<double>(arguments.d_key) +
                         static_cast<double>(arguments.d_value) +
                         (whole ? 3.0 * static_cast<double>(arguments.d_ff) : 0.0);
  const double bytes = highest * static_cast<double>(arguments.d_model) *
                       static_cast<double>(arguments.n_layers) * sizeof(float);
  const double most = static_cast<double>(std::numeric_limits<std::size_t>::max() / 2);
  require_memory(static_cast<std::size_t>(std::min(bytes, most)),
                 "weights of d_model " + std::to_string(arguments.d_model));
}

}  // namespace

Encoder<float> torch_init(const TorchArguments& arguments, TorchRandom& random) {
  require_sizes(arguments);
  Encoder<float> encoder;
  const TorchRandom before = random;
  for (std::size_t index = 0; index < arguments.n_layers; ++index) {
    random = before;  // a deep copy draws nothing
    encoder.layers.push_back(draw_layer(arguments, random));
    encoder.layers.back().index = index;
  }
  return encoder;
}

}  // namespace mha
