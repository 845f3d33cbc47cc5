// Rows of the table of naming schemes: decoders alone, causal.

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

Scheme gpt2() {
  return {
      .name = "gpt2",
      .title = "GPT-2 (Hugging Face)",
      .tensors = join({fused_conv1d("attn.c_attn"), conv1d("O", "attn.c_proj"),
                       layer_norm("norm1", "ln_1"), layer_norm("norm2", "ln_2"),
                       conv1d("1", "mlp.c_fc"), conv1d("2", "mlp.c_proj")}),
      .attention = "attn.",
      .last_norm = layer_norm("norm", "ln_f", Need::together, bias_group("norm")),
      .other_words = "into byte pairs (BPE)",
      .model_types = {"gpt2"},
      .defaults = {{"norm", "pre"},
                   {"activation", "gelu_tanh"},
                   {"eps", "1e-05"},
                   {"causal", "true"}},
      // The causal mask, and what it puts in place of a score.
      .aside = {"attn.bias", "attn.masked_bias"},
  };
}

Rules llama_around() {
  return join({rms_norm("norm1", "input_layernorm"),
               rms_norm("norm2", "post_attention_layernorm"),
               linear("G", {"mlp.gate_proj"}, bias_group("mlp bias")),
               linear("1", {"mlp.up_proj"}, bias_group("mlp bias")),
               linear("2", {"mlp.down_proj"}, bias_group("mlp bias"))});
}

Scheme llama_like(Scheme row, const Bias& qkv_bias, const Bias& out_bias) {
  row.tensors = join({linear("Q", {"self_attn.q_proj"}, qkv_bias),
                      linear("K", {"self_attn.k_proj"}, qkv_bias),
                      linear("V", {"self_attn.v_proj"}, qkv_bias),
                      linear("O", {"self_attn.o_proj"}, out_bias), llama_around()});
  row.attention = "self_attn.";
  row.by_config = true;
  row.last_norm = {{"norm.weight", {"norm.weight"}, Form::vector, Need::together, "norm"}};
  row.other_words = "into byte pairs (BPE)";
  row.sections = {"text_config"};
  row.defaults = {{"norm", "pre"},        {"norm_type", "rms"}, {"activation", "silu"},
                  {"eps", "1e-06"},       {"causal", "true"},   {"rope", "halves"},
                  {"rope_theta", "10000"}};
  return row;
}

// Multi-head latent attention; queries have a latent of their own, or none.
Scheme deepseek(std::string name, std::string title, const std::string& query,
                const Rules& query_latent) {
  const std::string at = "self_attn.";
  const std::vector<std::string> q = {at + query};
  const std::vector<std::string> kv = {at + "kv_a_proj_with_mqa.weight"};
  const std::vector<std::string> up = {at + "kv_b_proj.weight"};
  const auto cut = [](const char* begin, const char* end, bool per_head) {
    return Cut{.begin = begin, .end = end, .per_head = per_head};
  };
  const auto rule = [](const char* native, const std::vector<std::string>& names, Cut part) {
    return TensorRule{native, names, Form::out_in, Need::always, "", std::move(part)};
  };
  return {
      .name = std::move(name),
      .title = std::move(title),
      .tensors = join({{rule("W_DKV", kv, cut("", "kv_rank", false)),
                        rule("W_KR", kv, cut("kv_rank", "", false)),
                        {"kv_latent_norm.weight", {at + "kv_a_layernorm.weight"}},
                        rule("W_UQ", q, cut("", "d_nope", true)),
                        rule("W_QR", q, cut("d_nope", "", true)),
                        rule("W_UK", up, cut("", "d_nope", true)),
                        rule("W_UV", up, cut("d_nope", "", true))},
                       query_latent,
                       linear("O", {at + "o_proj"}, bias_group("attention bias")),
                       llama_around()}),
      .attention = at,
      .last_norm = {{"norm.weight", {"norm.weight"}, Form::vector, Need::together, "norm"}},
      .other_words = "into byte pairs (BPE)",
      .model_types = {"deepseek_v2", "deepseek_v3"},
      .defaults = {{"norm", "pre"},
                   {"norm_type", "rms"},
                   {"activation", "silu"},
                   {"eps", "1e-06"},
                   {"causal", "true"},
                   {"rope", "pairs"},
                   {"rope_theta", "10000"},
                   {"latent_eps", "1e-06"}},
      // Grouped heads are a matter of the latent: every head has keys of its own.
      .keys = {{"num_key_value_heads", ""},
               {"head_dim", ""},
               {"rope_interleave", "rope", {{"true", "pairs"}, {"false", "halves"}}}},
      .lengths = {{"kv_rank", {at + "kv_a_layernorm.weight"}, false, "", "kv_lora_rank"},
                  {"d_rope", kv, false, "kv_rank", "qk_rope_head_dim"},
                  {"d_nope", q, true, "d_rope", "qk_nope_head_dim"}},
  };
}

Scheme transformer_lens() {
  const auto rule = [](const char* native, const char* name, Form form) {
    return TensorRule{native, {name}, form};
  };
  return {
      .name = "transformer-lens",
      .title = "TransformerLens",
      .tensors =
          {rule("W_Q", "attn.W_Q", Form::head_in_out),
           rule("W_K", "attn.W_K", Form::head_in_out),
           rule("W_V", "attn.W_V", Form::head_in_out),
           rule("W_O", "attn.W_O", Form::head_in_out), rule("b_Q", "attn.b_Q", Form::head_out),
           rule("b_K", "attn.b_K", Form::head_out), rule("b_V", "attn.b_V", Form::head_out),
           rule("b_O", "attn.b_O", Form::vector), rule("norm1.weight", "ln1.w", Form::vector),
           rule("norm1.bias", "ln1.b", Form::vector),
           rule("norm2.weight", "ln2.w", Form::vector),
           rule("norm2.bias", "ln2.b", Form::vector), rule("W_1", "mlp.W_in", Form::in_out),
           rule("b_1", "mlp.b_in", Form::vector), rule("W_2", "mlp.W_out", Form::in_out),
           rule("b_2", "mlp.b_out", Form::vector)},
      .attention = "attn.",
      .last_norm = {{"norm.weight", {"ln_final.w"}, Form::vector, Need::together, "norm"},
                    {"norm.bias", {"ln_final.b"}, Form::vector, Need::together, "norm"}},
      .other_words = "into byte pairs (BPE)",
      // Its encoder (BERT) has an embedding norm there.
      .not_beside = {"embed.ln.w"},
      .defaults = {{"norm", "pre"},
                   {"activation", "gelu_tanh"},
                   {"eps", "1e-05"},
                   {"causal", "true"}},
      .keys = {{"act_fn", "activation"},
               {"d_mlp", "d_ff"},
               {"attention_dir", "causal", {{"causal", "true"}, {"bidirectional", "false"}}},
               {"positional_embedding_type",
                "",
                {{"standard", ""}},
                "positions within the layers are not done for these names"},
               {"parallel_attn_mlp",
                "",
                {{"false", ""}},
                "attention and feed-forward in parallel are not done"}},
      .aside = {"attn.mask", "attn.IGNORE"},
      .unit_norm = {"normalization_type", "LNPre"},
  };
}

}  // namespace

std::vector<Scheme> decoder_schemes() {
  const std::string at = "self_attn.";
  return {
      gpt2(),
      llama_like({.name = "llama", .title = "LLaMA (Hugging Face)", .model_types = {"llama"}},
                 bias_group("attention bias"), bias_group("attention bias")),
      llama_like({.name = "mistral",
                  .title = "Mistral (Hugging Face)",
                  .model_types = {"mistral"},
                  .windows = {.key = "sliding_window"}},
                 no_bias(), no_bias()),
      llama_like({.name = "qwen2",
                  .title = "Qwen2 (Hugging Face)",
                  .model_types = {"qwen2"},
                  .windows = {.key = "sliding_window",
                              .switch_key = "use_sliding_window",
                              .switched_on = false,
                              .first_key = "max_window_layers"}},
                 with_bias(), no_bias()),
      deepseek("deepseek", "DeepSeek-V2, V3 (Hugging Face)", "q_b_proj.weight",
               join({linear("DQ", {at + "q_a_proj"}, no_bias()),
                     rms_norm("q_latent_norm", at + "q_a_layernorm")})),
      deepseek("deepseek-lite", "DeepSeek-V2 without a latent for queries (Hugging Face)",
               "q_proj.weight", {}),
      transformer_lens(),
  };
}

}  // namespace mha
