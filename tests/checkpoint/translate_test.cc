#include "checkpoint/translate.h"

#include "catch.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

using Values = std::vector<double>;
using Lines = std::vector<std::string>;

TEST_CASE("four linear layers become native matrices, transposed by view") {
  const Translated result = translated(article());
  CHECK(result.scheme == "article");
  CHECK_FALSE(result.stack);
  CHECK(result.unused.empty());
  CHECK(shapes_of(result) == std::map<std::string, Shape>{{"W_Q", {4, 4}},
                                                          {"W_K", {4, 4}},
                                                          {"W_V", {4, 4}},
                                                          {"W_O", {4, 4}},
                                                          {"b_Q", {4}},
                                                          {"b_K", {4}},
                                                          {"b_V", {4}},
                                                          {"b_O", {4}}});
  CHECK(values_of(result, "W_Q") ==
        Values{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  CHECK(result.archive.at("W_Q").origin == "W_q.weight");
}

TEST_CASE("packed projections are the thirds of one matrix") {
  const Translated result = translated(torch_layer());
  CHECK(result.scheme == "torch-layer");
  CHECK(values_of(result, "W_Q") ==
        Values{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  CHECK(values_of(result, "b_K") == Values{4, 5, 6, 7});
  CHECK(values_of(result, "W_V")[0] == 32);
  CHECK(shapes_of(result).at("W_1") == Shape{4, 6});
  CHECK(shapes_of(result).at("W_2") == Shape{6, 4});
}

TEST_CASE("a shard that was given alone says so") {
  Names names = stacked("bert.encoder.layer.", 2, bert_layer());
  names.pop_back();
  Archive archive = file_of(names);
  archive.path = "model-00001-of-00002.safetensors";
  const std::string refusal = error_of([&] { translate(archive, {}); });
  CHECK(
      refusal.ends_with(" is missing (scheme bert): a shard alone is not a model, give the "
                        ".index.json beside it"));
}

TEST_CASE("layers of a stack keep their numbers, and what stands outside is left aside") {
  const Translated result =
      translated(stacked("bert.encoder.layer.", 2, bert_layer()) +
                 Names{{"bert.embeddings.word_embeddings.weight", {5, 4}}});
  CHECK(result.scheme == "bert");
  CHECK(result.stack);
  CHECK(result.archive.members.size() == 32);
  CHECK(result.archive.at("layers.1.norm2.bias").origin ==
        "bert.encoder.layer.1.output.LayerNorm.bias");
  CHECK(result.unused == Lines{"bert.embeddings.word_embeddings.weight"});
  CHECK(by_name(result.defaults) == std::map<std::string, std::string>{{"norm", "post"},
                                                                       {"activation", "gelu"},
                                                                       {"eps", "1e-12"}});
}

namespace {

Names modernbert_layer(bool first) {
  Names names = {{"attn.Wqkv.weight", {12, 4}},
                 {"attn.Wo.weight", {4, 4}},
                 {"mlp_norm.weight", {4}},
                 {"mlp.Wi.weight", {12, 4}},
                 {"mlp.Wo.weight", {4, 6}}};
  if (!first) names.push_back({"attn_norm.weight", {4}});
  return names;
}

Names t5_layer(bool first) {
  const std::string attention = "layer.0.SelfAttention.";
  Names names;
  for (const char* name : {"q", "k", "v"})
    names.push_back({attention + name + ".weight", {6, 4}});
  names = names + Names{{attention + "o.weight", {4, 6}},
                        {"layer.0.layer_norm.weight", {4}},
                        {"layer.1.layer_norm.weight", {4}},
                        {"layer.1.DenseReluDense.wi.weight", {5, 4}},
                        {"layer.1.DenseReluDense.wo.weight", {4, 5}}};
  if (first) names.push_back({attention + "relative_attention_bias.weight", {8, 2}});
  return names;
}

// Two heads of d_nope 2, d_rope 2, d_v 1; latents of 3 (queries) and 4.
Names deepseek_layer() {
  const std::string at = "self_attn.";
  return Names{{at + "q_a_proj.weight", {3, 4}},    {at + "q_a_layernorm.weight", {3}},
               {at + "q_b_proj.weight", {8, 3}},    {at + "kv_a_proj_with_mqa.weight", {6, 4}},
               {at + "kv_a_layernorm.weight", {4}}, {at + "kv_b_proj.weight", {6, 4}},
               {at + "o_proj.weight", {4, 2}}} +
         Names{{"input_layernorm.weight", {4}},
               {"post_attention_layernorm.weight", {4}},
               {"mlp.gate_proj.weight", {6, 4}},
               {"mlp.up_proj.weight", {6, 4}},
               {"mlp.down_proj.weight", {4, 6}}};
}

Names lens_layer(bool norms) {
  Names names;
  for (const std::string what : {"Q", "K", "V"}) {
    names = names + Names{{"attn.W_" + what, {2, 4, 3}}, {"attn.b_" + what, {2, 3}}};
  }
  names = names + Names{{"attn.W_O", {2, 3, 4}}, {"attn.b_O", {4}},    {"attn.mask", {9, 9}},
                        {"attn.IGNORE", {1}},    {"mlp.W_in", {4, 6}}, {"mlp.b_in", {6}},
                        {"mlp.W_out", {6, 4}},   {"mlp.b_out", {4}}};
  if (!norms) return names;
  return names + Names{{"ln1.w", {4}}, {"ln1.b", {4}}, {"ln2.w", {4}}, {"ln2.b", {4}}};
}

TranslateOptions heads(std::size_t n_heads) {
  TranslateOptions options;
  options.n_heads = n_heads;
  return options;
}

using Strings = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a Conv1D is [in, out], its q, k and v thirds of the columns") {
  const Translated result =
      translated(stacked("h.", 1, gpt2_layer()) + Names{{"h.0.attn.bias", {1, 1, 9, 9}},
                                                        {"h.0.attn.masked_bias", {}},
                                                        {"ln_f.weight", {4}},
                                                        {"ln_f.bias", {4}}});
  CHECK(result.scheme == "gpt2");
  CHECK(values_of(result, "layers.0.W_K") ==
        Values{4, 5, 6, 7, 16, 17, 18, 19, 28, 29, 30, 31, 40, 41, 42, 43});
  CHECK(values_of(result, "layers.0.b_V") == Values{8, 9, 10, 11});
  CHECK(values_of(result, "layers.0.W_O")[1] == 1);
  CHECK(shapes_of(result).at("layers.0.W_1") == Shape{4, 6});
  CHECK(result.unused == Lines{"h.0.attn.bias", "h.0.attn.masked_bias"});
  CHECK(by_name(result.defaults).at("causal") == "true");
  CHECK(by_name(result.defaults).at("activation") == "gelu_tanh");
  CHECK(result.archive.at("norm.bias").origin == "ln_f.bias");
}

TEST_CASE("a head axis in the middle comes to the front") {
  const Translated result = translated({{"mha/query/kernel", {2, 3, 2}},
                                        {"mha/key/kernel", {2, 3, 2}},
                                        {"mha/value/kernel", {2, 3, 1}},
                                        {"mha/attention_output/kernel", {3, 1, 2}},
                                        {"mha/query/bias", {3, 2}},
                                        {"mha/key/bias", {3, 2}},
                                        {"mha/value/bias", {3, 1}},
                                        {"mha/attention_output/bias", {2}}});
  CHECK(shapes_of(result) == std::map<std::string, Shape>{{"W_Q", {3, 2, 2}},
                                                          {"W_K", {3, 2, 2}},
                                                          {"W_V", {3, 2, 1}},
                                                          {"W_O", {3, 1, 2}},
                                                          {"b_Q", {3, 2}},
                                                          {"b_K", {3, 2}},
                                                          {"b_V", {3, 1}},
                                                          {"b_O", {2}}});
  CHECK(values_of(result, "W_Q") == Values{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
}

TEST_CASE("separate widths and the learned key and value of nn.MultiheadAttention") {
  const Translated result = translated({{"attn.q_proj_weight", {4, 4}},
                                        {"attn.k_proj_weight", {4, 3}},
                                        {"attn.v_proj_weight", {4, 2}},
                                        {"attn.in_proj_bias", {12}},
                                        {"attn.bias_k", {1, 1, 4}},
                                        {"attn.bias_v", {1, 1, 4}},
                                        {"attn.out_proj.weight", {4, 4}},
                                        {"attn.out_proj.bias", {4}}});
  CHECK(result.scheme == "multihead-separate");
  const auto shapes = shapes_of(result);
  CHECK(shapes.at("W_K") == Shape{3, 4});
  CHECK(shapes.at("W_V") == Shape{2, 4});
  CHECK(shapes.at("bias_k") == Shape{4});
  CHECK(values_of(result, "b_V") == Values{8, 9, 10, 11});
  CHECK(values_of(result, "bias_v") == Values{0, 1, 2, 3});
  CHECK(
      translate_error(
          {{"in_proj_weight", {12, 4}}, {"out_proj.weight", {4, 4}}, {"bias_k", {1, 1, 4}}}) ==
      "w.safetensors: bias_v is missing (scheme multihead)");
}

TEST_CASE("ModernBERT activates the first half, and its first layer has no first norm") {
  const Translated result =
      translated(with_prefix("model.layers.0.", modernbert_layer(true)) +
                 with_prefix("model.layers.1.", modernbert_layer(false)) +
                 Names{{"model.final_norm.weight", {4}}});
  CHECK(result.scheme == "modernbert");
  CHECK(values_of(result, "layers.0.W_G")[0] == 0);
  CHECK(values_of(result, "layers.0.W_1")[0] == 24);
  CHECK(shapes_of(result).at("layers.0.W_1") == Shape{4, 6});
  CHECK_FALSE(shapes_of(result).contains("layers.0.norm1.weight"));
  CHECK(shapes_of(result).contains("layers.1.norm1.weight"));
  CHECK(by_name(result.defaults).at("layers.0.norm1") == "none");
  CHECK_FALSE(by_name(result.defaults).contains("layers.1.norm1"));
  CHECK(translate_error(stacked("model.layers.", 2, modernbert_layer(true))) ==
        "w.safetensors: model.layers.1.attn_norm.weight is missing (scheme modernbert)");
}

TEST_CASE("nomic-bert activates fc12") {
  const Translated result = translated(stacked("encoder.layers.", 1,
                                               {{"attn.Wqkv.weight", {12, 4}},
                                                {"attn.out_proj.weight", {4, 4}},
                                                {"norm1.weight", {4}},
                                                {"norm1.bias", {4}},
                                                {"norm2.weight", {4}},
                                                {"norm2.bias", {4}},
                                                {"mlp.fc11.weight", {6, 4}},
                                                {"mlp.fc12.weight", {6, 4}},
                                                {"mlp.fc2.weight", {4, 6}}}));
  CHECK(result.scheme == "nomic-bert");
  CHECK(result.archive.at("layers.0.W_G").origin == "encoder.layers.0.mlp.fc12.weight");
  CHECK(by_name(result.defaults) == Strings{{"norm", "post"},
                                            {"activation", "silu"},
                                            {"eps", "1e-12"},
                                            {"rope", "halves"},
                                            {"rope_theta", "1000"}});
}

TEST_CASE("T5's first layer has the relative bias for all") {
  const Translated result = translated(with_prefix("encoder.block.0.", t5_layer(true)) +
                                       with_prefix("encoder.block.1.", t5_layer(false)));
  CHECK(result.scheme == "t5");
  CHECK(result.archive.at("layers.1.relative_bias").origin ==
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  CHECK(shapes_of(result).at("layers.1.relative_bias") == Shape{8, 2});
  CHECK(by_name(result.defaults).at("scale") == "1");
  CHECK(by_name(result.defaults).at("norm_type") == "rms");
  CHECK(translate_error(stacked("encoder.block.", 2, t5_layer(true)))
            .ends_with("is there, though layer 0 has it for all"));
  CHECK(translate_error(stacked("encoder.block.", 2, t5_layer(false)))
            .starts_with("w.safetensors: encoder.block.0.layer.0.SelfAttention.relative_"));
}

TEST_CASE("torchvision numbers its layers behind a word, and has its last norm above them") {
  Names layer = {{"self_attention.in_proj_weight", {12, 4}},
                 {"self_attention.in_proj_bias", {12}},
                 {"mlp.0.weight", {6, 4}},
                 {"mlp.0.bias", {6}},
                 {"mlp.3.weight", {4, 6}},
                 {"mlp.3.bias", {4}}};
  for (const std::string name : {"self_attention.out_proj", "ln_1", "ln_2"}) {
    layer = layer + Names{{name + ".weight", name[0] == 's' ? Shape{4, 4} : Shape{4}},
                          {name + ".bias", {4}}};
  }
  const Translated result =
      translated(stacked("encoder.layers.encoder_layer_", 12, layer) +
                 Names{{"encoder.ln.weight", {4}}, {"encoder.ln.bias", {4}}});
  CHECK(result.scheme == "torchvision-vit");
  CHECK(result.archive.at("layers.11.W_2").origin ==
        "encoder.layers.encoder_layer_11.mlp.3.weight");
  CHECK(result.archive.at("norm.weight").origin == "encoder.ln.weight");
  CHECK(by_name(result.defaults).at("eps") == "1e-06");
}

TEST_CASE("latents are cut by heads into what turns and what does not") {
  const Translated result =
      translated(stacked("model.layers.", 1, deepseek_layer()), "", heads(2));
  CHECK(result.scheme == "deepseek");
  const auto shapes = shapes_of(result);
  CHECK(shapes.at("layers.0.W_DQ") == Shape{4, 3});
  CHECK(shapes.at("layers.0.q_latent_norm.weight") == Shape{3});
  CHECK(shapes.at("layers.0.W_UQ") == Shape{2, 3, 2});
  CHECK(shapes.at("layers.0.W_QR") == Shape{2, 3, 2});
  CHECK(shapes.at("layers.0.W_DKV") == Shape{4, 4});
  CHECK(shapes.at("layers.0.W_KR") == Shape{4, 2});
  CHECK(shapes.at("layers.0.W_UK") == Shape{2, 4, 2});
  CHECK(shapes.at("layers.0.W_UV") == Shape{2, 4, 1});
  // Rows 4 to 7 are the second head's: 4 and 5 do not turn, 6 and 7 do.
  CHECK(values_of(result, "layers.0.W_UQ") ==
        Values{0, 3, 1, 4, 2, 5, 12, 15, 13, 16, 14, 17});
  CHECK(values_of(result, "layers.0.W_QR") ==
        Values{6, 9, 7, 10, 8, 11, 18, 21, 19, 22, 20, 23});
  CHECK(values_of(result, "layers.0.W_UV") == Values{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(values_of(result, "layers.0.W_KR") == Values{16, 20, 17, 21, 18, 22, 19, 23});
}

TEST_CASE("latents need the head count, and a config's lengths must be theirs") {
  const Names layers = stacked("model.layers.", 1, deepseek_layer());
  CHECK(translate_error(layers) ==
        "w.safetensors: nothing says how many heads there are: give --n-heads, or "
        "--config with the model's config.json");
  CHECK(translate_error(layers, "", heads(3)) ==
        "w.safetensors: model.layers.0.self_attn.q_b_proj.weight is [8, 3]: its 8 rows do not "
        "split into 3 heads (--n-heads)");
  CHECK(translate_error(layers, "", heads(4)).find("expected more than 2 (d_rope)") !=
        std::string::npos);
  CHECK(translate_error(layers, R"({"num_attention_heads": 2, "qk_rope_head_dim": 4})") ==
        "config.json: qk_rope_head_dim is 4, but 2 by the shape of "
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight in w.safetensors");
  CHECK(translate_error(layers, R"({"num_attention_heads": 2, "qk_rope_head_dim": 2,
                                    "qk_nope_head_dim": 2, "kv_lora_rank": 4})") ==
        "no error");
}

TEST_CASE("queries without a latent are cut alike") {
  Names lite;
  for (const auto& one : deepseek_layer()) {
    if (one.first.find("q_a_") == one.first.npos && one.first.find("q_b_") == one.first.npos) {
      lite.push_back(one);
    }
  }
  lite.push_back({"self_attn.q_proj.weight", {8, 4}});
  const Translated result = translated(stacked("model.layers.", 1, lite), "", heads(2));
  CHECK(result.scheme == "deepseek-lite");
  CHECK(shapes_of(result).at("layers.0.W_UQ") == Shape{2, 4, 2});
  CHECK_FALSE(shapes_of(result).contains("layers.0.W_DQ"));
}

TEST_CASE("TransformerLens puts heads first and keeps its mask out") {
  const Translated result = translated(stacked("blocks.", 2, lens_layer(true)) +
                                       Names{{"ln_final.w", {4}}, {"ln_final.b", {4}}});
  CHECK(result.scheme == "transformer-lens");
  CHECK(shapes_of(result).at("layers.1.W_O") == Shape{2, 3, 4});
  CHECK(result.archive.at("norm.weight").origin == "ln_final.w");
  CHECK(result.unused.size() == 4);
}

TEST_CASE("norms folded away are norms of ones where a config says so, else nobody knows") {
  const Names folded = stacked("blocks.", 1, lens_layer(false));
  CHECK(translate_error(folded) ==
        "w.safetensors: blocks.0.ln1.w, blocks.0.ln1.b, blocks.0.ln2.w, blocks.0.ln2.b are "
        "missing (scheme transformer-lens): where norms are folded into what reads them, a "
        "config must say normalization_type LNPre");
  const Translated result = translated(folded, R"({"normalization_type": "LNPre"})");
  CHECK(values_of(result, "layers.0.norm1.weight") == Values{1, 1, 1, 1});
  CHECK(shapes_of(result).contains("layers.0.norm2.weight"));
  CHECK_FALSE(shapes_of(result).contains("layers.0.norm1.bias"));
}

TEST_CASE("norms may say gamma and beta") {
  Names old = stacked("layer.", 1, bert_layer());
  for (auto& [name, shape] : old) {
    const std::size_t norm = name.find("LayerNorm.");
    if (norm != name.npos) {
      name.replace(norm + 10, name.npos, name.ends_with("weight") ? "gamma" : "beta");
    }
  }
  CHECK(translated(old).archive.at("layers.0.norm1.bias").origin ==
        "layer.0.attention.output.LayerNorm.beta");
  CHECK(translate_error(old + Names{{"layer.0.output.LayerNorm.weight", {4}}})
            .ends_with(" are one tensor of scheme bert"));
}

TEST_CASE("biases come together or not at all") {
  const Names plain = {{"self_attn.in_proj_weight", {12, 4}},
                       {"self_attn.out_proj.weight", {4, 4}},
                       {"linear1.weight", {6, 4}},
                       {"linear2.weight", {4, 6}},
                       {"norm1.weight", {4}},
                       {"norm2.weight", {4}}};
  CHECK(translated(plain).archive.members.size() == 8);
  CHECK(translate_error(plain + Names{{"linear1.bias", {6}}}) ==
        "w.safetensors: self_attn.in_proj_bias, self_attn.out_proj.bias, norm1.bias, "
        "norm2.bias, "
        "linear2.bias are missing (scheme torch-layer)");
}

TEST_CASE("a stack's last norm is found where the family has it, and nowhere else") {
  const Names layers = stacked("encoder.layers.", 1, torch_layer());
  const Translated with =
      translated(layers + Names{{"encoder.norm.weight", {4}}, {"encoder.norm.bias", {4}}});
  CHECK(with.archive.at("norm.weight").origin == "encoder.norm.weight");
  const Translated without_any = translated(layers + Names{{"norm.weight", {4}}});
  CHECK_FALSE(shapes_of(without_any).contains("norm.weight"));
  CHECK(without_any.unused == Lines{"norm.weight"});
}

TEST_CASE("settings of the file are passed on, those of other programs left aside") {
  Archive archive = file_of(article());
  archive.container = "npz";
  archive.settings = {{"n_heads", "2"}, {"iteration", "7"}};
  const Translated result = translate(archive, {});
  CHECK(by_name(result.file) == Strings{{"n_heads", "2"}});
  CHECK(result.file[0].source == "w.safetensors");
  CHECK(result.unused == Lines{"iteration"});
}
