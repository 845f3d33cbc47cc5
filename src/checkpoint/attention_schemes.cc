// Rows of the table of naming schemes: attention alone, and families that are
// known in order to be refused.

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

// Four nn.Linear layers.
Scheme four_linear(const std::string& name, const std::vector<std::string>& qkv,
                   const std::vector<std::string>& out) {
  const Bias bias = bias_group("bias of q, k and v");
  return {
      .name = name,
      .title = "attention as four linear layers, " + qkv[0] + " … " + out[0],
      .tensors =
          join({linear("Q", {qkv[0]}, bias), linear("K", {qkv[1]}, bias),
                linear("V", {qkv[2]}, bias), linear("O", out, bias_group("bias of o"))}),
  };
}

// nn.MultiheadAttention, packed or (kdim, vdim) with a matrix each, and the
// learned key and value of add_bias_kv.
Scheme multihead_module(const std::string& name, const std::string& title, bool separate) {
  Scheme row{.name = name, .title = title, .tensors = multihead("", bias_group("bias"))};
  for (TensorRule& rule : row.tensors) {
    if (!separate || !rule.native.starts_with("W_") || rule.native == "W_O") continue;
    const std::string what(1, static_cast<char>(rule.native[2] - 'A' + 'a'));
    rule.names = {what + "_proj_weight"};
    rule.cut = {};
  }
  for (const char* extra : {"bias_k", "bias_v"}) {
    row.tensors.push_back({extra, {extra}, Form::one_one_out, Need::together, "bias_kv"});
  }
  return row;
}

Scheme undone(std::string name, std::string title, std::vector<std::string> model_types,
              const std::string& fused, const std::string& norm, const std::string& ffn,
              std::string why) {
  return {.name = std::move(name),
          .title = std::move(title),
          .tensors = {{"W_Q", {fused}, Form::out_in},
                      {"norm1.weight", {norm}},
                      {"W_1", {ffn}, Form::out_in}},
          .model_types = std::move(model_types),
          .undone = std::move(why)};
}

}  // namespace

std::vector<Scheme> attention_schemes() {
  return {
      four_linear("article", {"W_q", "W_k", "W_v"}, {"W_o"}),
      multihead_module("multihead", "nn.MultiheadAttention", false),
      multihead_module("multihead-separate", "nn.MultiheadAttention with kdim, vdim", true),
      four_linear("q_proj", {"q_proj", "k_proj", "v_proj"},
                  {"out_proj", "o_proj", "proj", "dense", "c_proj"}),
      four_linear("query", {"query", "key", "value"},
                  {"out", "out_proj", "o_proj", "output_proj", "output", "proj", "dense",
                   "output.dense", "attention_output"}),
      four_linear("to_q", {"to_q", "to_k", "to_v"}, {"to_out", "to_out.0"}),
      four_linear("w_q", {"w_q", "w_k", "w_v"}, {"w_o"}),
      four_linear("wq", {"wq", "wk", "wv"}, {"wo"}),
      four_linear("Wq", {"Wq", "Wk", "Wv"}, {"Wo"}),
      four_linear("W_query", {"W_query", "W_key", "W_value"},
                  {"out_proj", "W_out", "W_output", "W_o"}),
      four_linear("q_linear", {"q_linear", "k_linear", "v_linear"},
                  {"out", "out_linear", "o_linear"}),
      four_linear("linear_q", {"linear_q", "linear_k", "linear_v"},
                  {"linear_out", "linear_o"}),
      four_linear("fc_q", {"fc_q", "fc_k", "fc_v"}, {"fc_o", "fc_out"}),
      four_linear("query_proj", {"query_proj", "key_proj", "value_proj"},
                  {"out_proj", "output_proj"}),
      {.name = "keras",
       .title = "MultiHeadAttention of Keras",
       .tensors = head_axis("", "attention_output")},
      {.name = "flax",
       .title = "MultiHeadDotProductAttention of Flax",
       .tensors = head_axis("", "out")},
      {.name = "Wqkv",
       .title = "attention with q, k and v in Wqkv",
       .tensors = join({fused_linear("Wqkv", bias_group("bias of q, k and v")),
                        linear("O", {"out_proj", "Wo"}, bias_group("bias of o"))})},
  };
}

std::vector<Scheme> undone_schemes() {
  const std::string per_head =
      "q, k and v of each head lie together in query_key_value, which is not done";
  const std::string norm = "input_layernorm.weight";
  const std::string ffn = "mlp.dense_h_to_4h.weight";
  return {
      undone("gpt-neox", "GPT-NeoX", {"gpt_neox"}, "attention.query_key_value.weight", norm,
             ffn, per_head),
      undone("bloom-falcon", "BLOOM, Falcon", {"bloom", "falcon"},
             "self_attention.query_key_value.weight", norm, ffn, per_head),
      undone("fairseq", "fairseq's encoder before 0.9", {}, "self_attn.in_proj_weight",
             "self_attn_layer_norm.weight", "fc1.weight",
             "fairseq's packed layers are not done: save them in Hugging Face's names"),
      undone("gemma", "Gemma (Hugging Face)",
             {"gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text"},
             "self_attn.q_proj.weight", "input_layernorm.weight", "mlp.up_proj.weight",
             "norms of 1 + weight are not done"),
  };
}

}  // namespace mha
