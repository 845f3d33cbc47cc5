// Rows of the table of naming schemes: BERT and what grew from it.

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

// BERT, RoBERTa and ELECTRA name and compute alike; an epsilon tells them apart,
// and how they split words.
Scheme bert_like(std::string name, std::string title, std::vector<std::string> model_types,
                 std::vector<std::string> under, std::string eps) {
  return {
      .name = std::move(name),
      .title = std::move(title),
      .tensors = join({linear("Q", {"attention.self.query"}, with_bias()),
                       linear("K", {"attention.self.key"}, with_bias()),
                       linear("V", {"attention.self.value"}, with_bias()),
                       linear("O", {"attention.output.dense"}, with_bias()),
                       layer_norm("norm1", "attention.output.LayerNorm"),
                       linear("1", {"intermediate.dense"}, with_bias()),
                       linear("2", {"output.dense"}, with_bias()),
                       layer_norm("norm2", "output.LayerNorm")}),
      .attention = "attention.",
      .embeddings = bert_embeddings("../embeddings.", true),
      .model_types = std::move(model_types),
      .under = std::move(under),
      // RoFormer has a rotary table there.
      .not_beside = {"embed_positions.weight"},
      .defaults = {{"norm", "post"}, {"activation", "gelu"}, {"eps", std::move(eps)}},
      .keys = {{"is_decoder", "causal", {{"true", "true"}, {"false", "false"}}}},
  };
}

// Its positions are counted from 2, too.
Scheme roberta() {
  Scheme row = bert_like("roberta", "RoBERTa, XLM-R (Hugging Face)",
                         {"roberta", "xlm-roberta", "camembert"}, {"roberta"}, "1e-05");
  row.embeddings = {};
  row.other_words = "into byte pairs (BPE) or by SentencePiece";
  return row;
}

Scheme distilbert() {
  return {
      .name = "distilbert",
      .title = "DistilBERT (Hugging Face)",
      .tensors = join(
          {linear("Q", {"attention.q_lin"}, with_bias()),
           linear("K", {"attention.k_lin"}, with_bias()),
           linear("V", {"attention.v_lin"}, with_bias()),
           linear("O", {"attention.out_lin"}, with_bias()),
           layer_norm("norm1", "sa_layer_norm"), linear("1", {"ffn.lin1"}, with_bias()),
           linear("2", {"ffn.lin2"}, with_bias()), layer_norm("norm2", "output_layer_norm")}),
      .attention = "attention.",
      .embeddings = bert_embeddings("../embeddings.", false),
      .model_types = {"distilbert"},
      .defaults = {{"norm", "post"}, {"activation", "gelu"}, {"eps", "1e-12"}},
      .keys = {{"dim", "d_model"}, {"hidden_dim", "d_ff"}},
  };
}

Scheme modernbert() {
  const Bias norm_bias = bias_group("norm bias");
  return {
      .name = "modernbert",
      .title = "ModernBERT (Hugging Face)",
      .tensors = join(
          {fused_linear("attn.Wqkv", bias_group("attention bias")),
           linear("O", {"attn.Wo"}, bias_group("attention bias")),
           // Layer 0 reads the embeddings' norm as it is.
           layer_norm("norm1", "attn_norm", Need::after_first, bias_group("attn_norm bias")),
           // The first half is activated.
           linear("G", {"mlp.Wi"}, bias_group("mlp bias"), {0, 2}),
           linear("1", {"mlp.Wi"}, bias_group("mlp bias"), {1, 2}),
           linear("2", {"mlp.Wo"}, bias_group("mlp bias")),
           layer_norm("norm2", "mlp_norm", Need::always, norm_bias)}),
      .attention = "attn.",
      .last_norm = layer_norm("norm", "final_norm", Need::always, norm_bias),
      .other_words = "into byte pairs (BPE)",
      .model_types = {"modernbert"},
      .defaults = {{"norm", "pre"},
                   {"activation", "gelu"},
                   {"eps", "1e-05"},
                   {"rope", "halves"}},
      .keys = {{"norm_eps", "eps"}},
      .windows = {.key = "local_attention",
                  .width = 128,
                  .both_sides = true,
                  .full_every_key = "global_attn_every_n_layers",
                  .full_every = 3,
                  .full_theta_key = "global_rope_theta",
                  .full_theta = "160000",
                  .window_theta_key = "local_rope_theta",
                  .window_theta = "10000"},
      .by_config = true,
  };
}

Scheme nomic_bert() {
  return {
      .name = "nomic-bert",
      .title = "nomic-bert",
      .tensors = join({fused_linear("attn.Wqkv", bias_group("qkv bias")),
                       linear("O", {"attn.out_proj"}, bias_group("qkv bias")),
                       layer_norm("norm1", "norm1"), layer_norm("norm2", "norm2"),
                       linear("G", {"mlp.fc12"}, bias_group("fc1 bias")),
                       linear("1", {"mlp.fc11"}, bias_group("fc1 bias")),
                       linear("2", {"mlp.fc2"}, bias_group("fc2 bias"))}),
      .attention = "attn.",
      .model_types = {"nomic_bert"},
      .defaults = {{"norm", "post"},
                   {"activation", "silu"},
                   {"eps", "1e-12"},
                   {"rope", "halves"},
                   {"rope_theta", "1000"}},
      .keys = {{"rotary_emb_fraction",
                "rope",
                {{"1", ""}, {"1.0", ""}, {"0", "none"}, {"0.0", "none"}},
                "partial rotary positions are not done"},
               {"rotary_emb_interleaved", "rope", {{"true", "pairs"}, {"false", "halves"}}},
               {"rotary_emb_base", "rope_theta"},
               {"rotary_scaling_factor",
                "",
                {{"null", ""}},
                "scaled rotary positions are not done"},
               {"rotary_emb_scale_base",
                "",
                {{"null", ""}},
                "scaled rotary positions are not done"}},
      .by_config = true,
  };
}

}  // namespace

std::vector<Scheme> bert_schemes() {
  return {bert_like("bert", "BERT (Hugging Face)", {"bert"}, {"bert"}, "1e-12"),
          roberta(),
          bert_like("electra", "ELECTRA (Hugging Face)", {"electra"}, {"electra"}, "1e-12"),
          distilbert(),
          modernbert(),
          nomic_bert()};
}

}  // namespace mha
