#include "checkpoint/schemes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

std::vector<Scheme> all_rows() {
  std::vector<Scheme> rows;
  for (const auto& of_file :
       {torch_schemes(), bert_schemes(), vision_schemes(), seq2seq_schemes(),
        decoder_schemes(), undone_schemes(), attention_schemes()}) {
    rows.insert(rows.end(), of_file.begin(), of_file.end());
  }
  const std::size_t whole = rows.size();
  for (std::size_t i = 0; i < whole; ++i) {
    if (!rows[i].attention.empty()) rows.push_back(attention_of(rows[i]));
  }
  return rows;
}

}  // namespace

std::span<const Scheme> schemes() {
  static const std::vector<Scheme> rows = all_rows();
  return rows;
}

std::span<const Refusal> common_refusals() {
  static const std::string kExperts = "experts are not done";
  static const std::string kLayerScale = "LayerScale is not done";
  static const std::string kQkNorm = "norms of q and k are not done";
  static const std::string kFourNorms = "layers of four norms are not done";
  static const std::string kCross =
      "a decoder's attention to another sequence is not done; an encoder in the same file is "
      "chosen by --prefix";
  static const std::string kLora =
      "a LoRA adapter is not applied: merge it into the weights first";
  static const std::string kQuantised = "quantised weights are not done: save them as floats";
  static const std::string kRelative = "relative positions of this kind are not done";
  static const std::vector<Refusal> refusals = {
      {"experts", kExperts},
      {"shared_experts", kExperts},
      {"mlp.gate", kExperts},
      {"mlp.router", kExperts},
      {"block_sparse_moe", kExperts},
      {"ls1", kLayerScale},
      {"ls2", kLayerScale},
      {"ls_1", kLayerScale},
      {"ls_2", kLayerScale},
      {"layer_scale1", kLayerScale},
      {"layer_scale2", kLayerScale},
      {"layer_scale", kLayerScale},
      {"gamma_1", kLayerScale},
      {"gamma_2", kLayerScale},
      {"lambda_1", kLayerScale},
      {"lambda_2", kLayerScale},
      {"q_norm", kQkNorm},
      {"k_norm", kQkNorm},
      {"q_layernorm", kQkNorm},
      {"k_layernorm", kQkNorm},
      {"norm_q", kQkNorm},
      {"norm_k", kQkNorm},
      {"query_layernorm", kQkNorm},
      {"key_layernorm", kQkNorm},
      {"query_ln", kQkNorm},
      {"key_ln", kQkNorm},
      {"pre_feedforward_layernorm", kFourNorms},
      {"post_feedforward_layernorm", kFourNorms},
      {"post_self_attn_layernorm", kFourNorms},
      {"post_mlp_layernorm", kFourNorms},
      {"sinks", "attention sinks are not done"},
      {"encoder_attn", kCross},
      {"crossattention", kCross},
      {"cross_attn", kCross},
      {"cross_attention", kCross},
      {"EncDecAttention", kCross},
      {"multihead_attn", kCross},
      {"lora_A", kLora},
      {"lora_B", kLora},
      {"lora_embedding_A", kLora},
      {"weight_scale_inv", kQuantised},
      {"weight_scale", kQuantised},
      {"scale_inv", kQuantised},
      {"qweight", kQuantised},
      {"qzeros", kQuantised},
      {"SCB", kQuantised},
      {"absmax", kQuantised},
      {"distance_embedding", kRelative},
      {"relative_position_bias_table", kRelative},
      {"rel_pos_h", kRelative},
      {"alibi", "ALiBi is not done"},
      {"slopes", "ALiBi is not done"},
  };
  return refusals;
}

std::span<const std::string> rotary_tables() {
  static const std::vector<std::string> names = {
      "inv_freq",   "rotary_emb", "rotary_pos_emb", "rotary",     "rope",      "freqs_cis",
      "cos_cached", "sin_cached", "rotary_cos",     "rotary_sin", "freqs_cos", "freqs_sin"};
  return names;
}

std::span<const ConfigKey> common_keys() {
  using Values = std::vector<std::pair<std::string, std::string>>;
  static const Values kActivations = {{"relu", "relu"},
                                      {"gelu", "gelu"},
                                      {"gelu_python", "gelu"},
                                      {"geglu", "gelu"},
                                      {"gelu_tanh", "gelu_tanh"},
                                      {"gelu_new", "gelu_tanh"},
                                      {"gelu_fast", "gelu_tanh"},
                                      {"gelu_pytorch_tanh", "gelu_tanh"},
                                      {"gated-gelu", "gelu_tanh"},
                                      {"quick_gelu", "quick_gelu"},
                                      {"silu", "silu"},
                                      {"swish", "silu"},
                                      {"swiglu", "silu"},
                                      {"gated-silu", "silu"}};
  static const Values kFalse = {{"false", ""}};
  static const Values kWhole = {{"1", ""}, {"1.0", ""}};
  static const Values kPreWhereTrue = {{"true", "pre"}, {"false", "post"}};
  static const std::string kRelative = "relative positions of this kind are not done";
  static const std::string kPartial = "partial rotary positions are not done";
  static const std::string kParallel = "attention and feed-forward in parallel are not done";
  static const std::vector<ConfigKey> keys = {
      {"n_heads", "n_heads"},
      {"num_attention_heads", "n_heads"},
      {"num_heads", "n_heads"},
      {"n_head", "n_heads"},
      {"nhead", "n_heads"},
      {"encoder_attention_heads", "n_heads"},
      {"n_kv_heads", "n_kv_heads"},
      {"num_key_value_heads", "n_kv_heads"},
      {"d_model", "d_model"},
      {"hidden_size", "d_model"},
      {"n_embd", "d_model"},
      {"d_head", "d_head"},
      {"head_dim", "d_head"},
      {"d_ff", "d_ff"},
      {"intermediate_size", "d_ff"},
      {"n_inner", "d_ff"},
      {"dim_feedforward", "d_ff"},
      {"n_layers", "n_layers"},
      {"num_hidden_layers", "n_layers"},
      {"n_layer", "n_layers"},
      {"num_layers", "n_layers"},
      {"activation", "activation", kActivations},
      {"hidden_act", "activation", kActivations},
      {"activation_function", "activation", kActivations},
      {"hidden_activation", "activation", kActivations},
      {"dense_act_fn", "activation", kActivations},
      {"feed_forward_proj", "activation", kActivations},
      {"eps", "eps"},
      {"layer_norm_eps", "eps"},
      {"layer_norm_epsilon", "eps"},
      {"rms_norm_eps", "eps"},
      {"norm_eps", "eps"},
      {"norm", "norm", {{"post", "post"}, {"pre", "pre"}}},
      {"norm_first", "norm", kPreWhereTrue},
      {"prenorm", "norm", kPreWhereTrue},
      {"normalize_before", "norm", kPreWhereTrue},
      {"norm_type", "norm_type", {{"layer", "layer"}, {"rms", "rms"}}},
      {"use_rms_norm", "norm_type", {{"true", "rms"}, {"false", "layer"}}},
      {"gated", "gated", {{"true", "true"}, {"false", "false"}}},
      {"scale", "scale"},
      {"scale_attn_weights", "scale", {{"true", ""}, {"false", "1"}}},
      {"softcap", "softcap"},
      {"attn_logit_softcapping", "softcap"},
      {"causal",
       "causal",
       {{"true", "true"},
        {"start", "start"},
        {"end", "end"},
        {"false", "off"},
        {"off", "off"}}},
      {"rope", "rope", {{"none", "none"}, {"halves", "halves"}, {"pairs", "pairs"}}},
      {"rope_theta", "rope_theta"},
      {"window", "window"},
      {"relative_distance", "relative_distance"},
      {"latent_eps", "latent_eps"},
      {"add_zero_attn", "add_zero_attn", {{"true", "true"}, {"false", "false"}}},
      {"position_embedding_type", "", {{"absolute", ""}}, kRelative},
      {"partial_rotary_factor", "", kWhole, kPartial},
      {"rotary_pct", "", kWhole, kPartial},
      {"scale_attn_by_inverse_layer_idx", "", kFalse,
       "a scale by the layer's index is not done"},
      {"parallel_block", "", kFalse, kParallel},
      {"parallel_attn", "", kFalse, kParallel},
      {"use_parallel_residual", "", kFalse, kParallel},
      {"alibi", "", kFalse, "ALiBi is not done"},
      {"use_qk_norm", "", kFalse, "norms of q and k are not done"},
      {"qk_layernorm", "", kFalse, "norms of q and k are not done"},
  };
  return keys;
}

bool is_of_attention(const std::string& native) {
  static constexpr std::array<std::string_view, 6> kAround = {"W_1", "b_1", "W_G",
                                                              "b_G", "W_2", "b_2"};
  return !native.starts_with("norm") &&
         std::find(kAround.begin(), kAround.end(), native) == kAround.end();
}

}  // namespace mha
