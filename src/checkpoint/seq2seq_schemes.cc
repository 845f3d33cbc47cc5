// Rows of the table of naming schemes: encoders of models that also decode.

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

const std::vector<ConfigKey> kEncoderKeys = {{"encoder_attention_heads", "n_heads"},
                                             {"encoder_layers", "n_layers"},
                                             {"encoder_ffn_dim", "d_ff"}};

// BART, mBART and Whisper name alike; Whisper's keys have no bias.
Scheme fairseq_like(Scheme row, const Bias& key_bias) {
  row.tensors = join({linear("Q", {"self_attn.q_proj"}, with_bias()),
                      linear("K", {"self_attn.k_proj"}, key_bias),
                      linear("V", {"self_attn.v_proj"}, with_bias()),
                      linear("O", {"self_attn.out_proj"}, with_bias()),
                      layer_norm("norm1", "self_attn_layer_norm"),
                      layer_norm("norm2", "final_layer_norm"),
                      linear("1", {"fc1"}, with_bias()), linear("2", {"fc2"}, with_bias())});
  row.attention = "self_attn.";
  row.by_config = key_bias.there;
  row.keys = kEncoderKeys;
  return row;
}

Scheme openai_whisper() {
  return {
      .name = "openai-whisper",
      .title = "Whisper's encoder (OpenAI)",
      .tensors = join(
          {linear("Q", {"attn.query"}, with_bias()), linear("K", {"attn.key"}, no_bias()),
           linear("V", {"attn.value"}, with_bias()), linear("O", {"attn.out"}, with_bias()),
           layer_norm("norm1", "attn_ln"), layer_norm("norm2", "mlp_ln"),
           linear("1", {"mlp.0"}, with_bias()), linear("2", {"mlp.2"}, with_bias())}),
      .attention = "attn.",
      .last_norm = layer_norm("norm", "ln_post", Need::together, bias_group("norm")),
      .defaults = {{"norm", "pre"}, {"activation", "gelu"}, {"eps", "1e-05"}},
      .keys = {{"n_audio_head", "n_heads"}, {"n_audio_layer", "n_layers"}},
  };
}

Scheme t5(std::string name, std::string title, const Rules& ffn, std::string activation) {
  const std::string attention = "layer.0.SelfAttention.";
  return {
      .name = std::move(name),
      .title = std::move(title),
      .tensors = join({linear("Q", {attention + "q"}, no_bias()),
                       linear("K", {attention + "k"}, no_bias()),
                       linear("V", {attention + "v"}, no_bias()),
                       linear("O", {attention + "o"}, no_bias()),
                       {{"relative_bias",
                         {attention + "relative_attention_bias.weight"},
                         Form::in_out,
                         Need::from_first}},
                       rms_norm("norm1", "layer.0.layer_norm"),
                       rms_norm("norm2", "layer.1.layer_norm"),
                       ffn}),
      .attention = attention,
      .last_norm =
          {{"norm.weight", {"final_layer_norm.weight"}, Form::vector, Need::together, "norm"}},
      .other_words = "by SentencePiece",
      .model_types = {"t5", "mt5"},
      .defaults = {{"norm", "pre"},
                   {"norm_type", "rms"},
                   {"activation", std::move(activation)},
                   {"eps", "1e-06"},
                   {"scale", "1"}},
      .keys = {{"d_kv", "d_head"}, {"relative_attention_max_distance", "relative_distance"}},
  };
}

}  // namespace

std::vector<Scheme> seq2seq_schemes() {
  const auto last = [](const std::string& name) {
    return layer_norm("norm", name, Need::together, bias_group("norm"));
  };
  const std::string ffn = "layer.1.DenseReluDense.";
  const Rules out = linear("2", {ffn + "wo"}, no_bias());
  return {
      fairseq_like({.name = "bart",
                    .title = "BART's encoder (Hugging Face)",
                    .other_words = "into byte pairs (BPE)",
                    .model_types = {"bart"},
                    .beside = {"layernorm_embedding.weight"},
                    .not_beside = {"layer_norm.weight"},
                    .defaults = {{"norm", "post"}, {"activation", "gelu"}, {"eps", "1e-05"}}},
                   with_bias()),
      fairseq_like({.name = "mbart",
                    .title = "mBART's encoder (Hugging Face)",
                    .last_norm = last("layer_norm"),
                    .other_words = "by SentencePiece",
                    .model_types = {"mbart"},
                    // gelu or relu, by its config.
                    .defaults = {{"norm", "pre"}, {"eps", "1e-05"}}},
                   with_bias()),
      fairseq_like({.name = "whisper",
                    .title = "Whisper's encoder (Hugging Face)",
                    .last_norm = last("layer_norm"),
                    .model_types = {"whisper"},
                    .defaults = {{"norm", "pre"}, {"activation", "gelu"}, {"eps", "1e-05"}}},
                   no_bias()),
      openai_whisper(),
      t5("t5", "T5's encoder (Hugging Face)",
         join({linear("1", {ffn + "wi"}, no_bias()), out}), "relu"),
      t5("t5-gated", "T5 1.1's encoder (Hugging Face)",
         join({linear("G", {ffn + "wi_0"}, no_bias()), linear("1", {ffn + "wi_1"}, no_bias()),
               out}),
         "gelu_tanh"),
  };
}

}  // namespace mha
