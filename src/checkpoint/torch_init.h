#pragma once

#include <cstddef>

#include "checkpoint/torch_random.h"
#include "layer/settings.h"
#include "layer/weights.h"

namespace mha {

// The modules whose fresh weights can be drawn.
enum class TorchModule {
  // Four nn.Linear(d_model, d_model), for queries, keys, values and output, made
  // in this order: the module of many articles on attention.
  four_linear,
  multihead_attention,        // nn.MultiheadAttention
  transformer_encoder_layer,  // nn.TransformerEncoderLayer
};

// A module's arguments, by PyTorch's defaults.
struct TorchArguments {
  TorchModule module = TorchModule::four_linear;
  std::size_t d_model = 0;
  std::size_t n_heads = 0;
  bool bias = true;
  // nn.MultiheadAttention
  std::size_t d_key = 0;    // kdim; 0: d_model
  std::size_t d_value = 0;  // vdim
  bool bias_key = false;    // add_bias_kv
  bool zero_key = false;    // add_zero_attn
  // nn.TransformerEncoderLayer
  std::size_t d_ff = 2048;  // dim_feedforward
  NormPlacement norm = NormPlacement::post;
  Activation activation = Activation::relu;
  // nn.TransformerEncoder makes that many layers, all copies of one.
  std::size_t n_layers = 1;
};

// The weights that PyTorch draws when it makes the module, to the bit; `random`
// stands after them then. Throws Error for sizes of 0 and heads that do not
// divide d_model, Error(Fault::system) where memory does not suffice.
Encoder<float> torch_init(const TorchArguments& arguments, TorchRandom& random);

}  // namespace mha
