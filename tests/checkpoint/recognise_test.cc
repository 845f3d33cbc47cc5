// Which scheme a file is of, and which of its towers.

#include "checkpoint/recognise.h"

#include "catch.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

using Lines = std::vector<std::string>;

namespace {

// The layers of BART, mBART and Whisper, and what CLIP's have.
Names fairseq_layer(bool key_bias) {
  Names names = {{"self_attn.k_proj.weight", {4, 4}}};
  if (key_bias) names.push_back({"self_attn.k_proj.bias", {4}});
  for (const std::string name :
       {"self_attn.q_proj", "self_attn.v_proj", "self_attn.out_proj"}) {
    names = names + Names{{name + ".weight", {4, 4}}, {name + ".bias", {4}}};
  }
  for (const std::string name : {"self_attn_layer_norm", "final_layer_norm"}) {
    names = names + Names{{name + ".weight", {4}}, {name + ".bias", {4}}};
  }
  return names + Names{{"fc1.weight", {6, 4}},
                       {"fc1.bias", {6}},
                       {"fc2.weight", {4, 6}},
                       {"fc2.bias", {4}}};
}

Names clip_layer() {
  Names names;
  for (const std::string name :
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"}) {
    names = names + Names{{name + ".weight", {4, 4}}, {name + ".bias", {4}}};
  }
  for (const std::string name : {"layer_norm1", "layer_norm2"}) {
    names = names + Names{{name + ".weight", {4}}, {name + ".bias", {4}}};
  }
  return names + Names{{"mlp.fc1.weight", {6, 4}},
                       {"mlp.fc1.bias", {6}},
                       {"mlp.fc2.weight", {4, 6}},
                       {"mlp.fc2.bias", {4}}};
}

Names four(const std::string& q, const std::string& k, const std::string& v,
           const std::string& o) {
  return {{q + ".weight", {4, 4}},
          {k + ".weight", {4, 4}},
          {v + ".weight", {4, 4}},
          {o + ".weight", {4, 4}}};
}

std::string scheme_of(const Names& names, const std::string& config = "",
                      const TranslateOptions& options = {}) {
  return translated(names, config, options).scheme;
}
TranslateOptions prefix(const std::string& text) {
  TranslateOptions options;
  options.prefix = text;
  return options;
}

}  // namespace

TEST_CASE("wrappers in front of the names change nothing") {
  const std::string wrapper = GENERATE("", "module.", "_orig_mod.module.", "state_dict.model.",
                                       "net/", "0.auto_model.");
  const Translated result = translated(stacked(wrapper + "encoder.layer.", 2, bert_layer()));
  CHECK(result.scheme == "bert");
  CHECK(result.stack);
  CHECK(shapes_of(result).contains("layers.1.W_2"));
}

TEST_CASE("a layer without a number is a layer alone") {
  const Translated result = translated(with_prefix("block.", torch_layer()));
  CHECK(result.scheme == "torch-layer");
  CHECK_FALSE(result.stack);
}

TEST_CASE("the evidence names the tensor, what the config says and what told rows apart") {
  const Names roberta = stacked("roberta.encoder.layer.", 1, bert_layer());
  CHECK(translated(roberta).evidence ==
        Lines{"roberta.encoder.layer.0.attention.self.query.weight: RoBERTa, XLM-R (Hugging "
              "Face)",
              "the prefix has roberta: roberta"});
  const Lines said = translated(roberta, R"({"model_type": "xlm-roberta"})").evidence;
  CHECK(said.back().ends_with("config.json: model_type is xlm-roberta"));
  CHECK(translated(stacked("layer.", 1, bert_layer())).evidence ==
        Lines{"layer.0.attention.self.query.weight: BERT (Hugging Face)",
              "the names fit bert, roberta, electra, which differ in eps at most: taken for "
              "bert, eps 1e-12"});
}

TEST_CASE("the model_type of a config decides between rows of the same names") {
  const Names layers = stacked("encoder.layer.", 1, bert_layer());
  CHECK(scheme_of(layers, R"({"model_type": "roberta"})") == "roberta");
  CHECK(scheme_of(layers, R"({"model_type": "electra"})") == "electra");
  CHECK(scheme_of(layers, R"({"num_attention_heads": 2})") == "bert");
}

TEST_CASE("a model_type of another family than the names', or of none, is refused") {
  const Names layers = stacked("encoder.layer.", 1, bert_layer());
  CHECK(translate_error(layers, R"({"model_type": "llama"})") ==
        "config.json: model_type is \"llama\", but the names in w.safetensors are those of "
        "bert");
  const std::string unknown = translate_error(layers, R"({"model_type": "roformer"})");
  CHECK(
      unknown.starts_with("config.json: model_type is \"roformer\", which no scheme knows; "
                          "known are bart, bert, "));
  CHECK(unknown.find("whisper") != std::string::npos);
  CHECK(translate_error(stacked("model.layers.", 1, llama_layer()),
                        R"({"model_type": "gemma2"})") ==
        "config.json: model_type is \"gemma2\": norms of 1 + weight are not done");
  CHECK(translate_error(layers, R"({"model_type": 5})") ==
        "config.json: model_type is 5, expected a name");
}

TEST_CASE("keys without a bias are Whisper's, with one BART's where its embedding norm is") {
  const Names bart = stacked("model.encoder.layers.", 1, fairseq_layer(true));
  CHECK(scheme_of(stacked("model.encoder.layers.", 1, fairseq_layer(false))) == "whisper");
  CHECK(scheme_of(bart + Names{{"model.encoder.layernorm_embedding.weight", {4}}}) == "bart");
  CHECK(scheme_of(bart, R"({"model_type": "bart"})") == "bart");
}

TEST_CASE("names that fit rows which compute differently are not guessed at") {
  CHECK(translate_error(stacked("model.encoder.layers.", 1, fairseq_layer(true))) ==
        "w.safetensors: model.encoder.layers.: the names fit bart, mbart, which compute "
        "differently, and nothing tells which: give --config with its model_type");
  CHECK(translate_error(stacked("encoder.layers.", 1, clip_layer())) ==
        "w.safetensors: encoder.layers.: the names fit clip-vision, clip-text, which compute "
        "differently, and nothing tells which: give --config with its model_type");
}

TEST_CASE("mBART's activation must be said") {
  const Names mbart = stacked("model.encoder.layers.", 1, fairseq_layer(true)) +
                      Names{{"model.encoder.layer_norm.weight", {4}},
                            {"model.encoder.layer_norm.bias", {4}},
                            {"model.encoder.layernorm_embedding.weight", {4}}};
  CHECK(translate_error(mbart) ==
        "w.safetensors: nothing says the activation of scheme mbart: give --config");
  CHECK(scheme_of(mbart, R"({"model_type": "mbart", "activation_function": "relu"})") ==
        "mbart");
}

TEST_CASE("what stands beside the layers speaks against a row") {
  CHECK(translate_error(stacked("roformer.encoder.layer.", 1, bert_layer()) +
                        Names{{"roformer.encoder.embed_positions.weight", {9, 2}}}) ==
        "w.safetensors: roformer.encoder.layer.: names like those of bert, roberta, electra "
        "stand beside others that none of them has, and no other scheme knows them");
}

TEST_CASE("several towers are listed, and a prefix chooses one") {
  const Names both = stacked("text_model.encoder.layers.", 1, clip_layer()) +
                     stacked("vision_model.encoder.layers.", 2, clip_layer());
  CHECK(translate_error(both) ==
        "w.safetensors: holds several towers of layers, choose one by --prefix: "
        "text_model.encoder.layers. (1 layer of clip-text), vision_model.encoder.layers. (2 "
        "layers of clip-vision)");
  const std::string vision = GENERATE("vision_model.", "vision_model",
                                      "vision_model.encoder.layers.", "vision_model/");
  CHECK(scheme_of(both, "", prefix(vision)) == "clip-vision");
  CHECK(by_name(translated(both, "", prefix("text_model.")).defaults)["causal"] == "true");
  CHECK(translate_error(both, "", prefix("vision")) ==
        "w.safetensors: no layers under the prefix vision; there are "
        "text_model.encoder.layers. (1 layer of clip-text), vision_model.encoder.layers. (2 "
        "layers of clip-vision)");
}

TEST_CASE("a prefix may leave out wrappers, and go down to one module") {
  const Names both = stacked("module.text_model.encoder.layers.", 1, clip_layer()) +
                     stacked("module.vision_model.encoder.layers.", 1, clip_layer());
  CHECK(scheme_of(both, "", prefix("vision_model.")) == "clip-vision");
  const Translated one = translated(stacked("encoder.layer.", 12, bert_layer()), "",
                                    prefix("encoder.layer.1.attention."));
  CHECK(one.scheme == "bert-attention");
  CHECK_FALSE(one.stack);
  CHECK(one.archive.at("W_Q").origin == "encoder.layer.1.attention.self.query.weight");
  const std::string text = GENERATE("encoder.layer.1.", "encoder.layer.1", "layer.1.");
  INFO(text);
  const Translated layer =
      translated(stacked("encoder.layer.", 12, bert_layer()), "", prefix(text));
  CHECK(layer.scheme == "bert");
  CHECK_FALSE(layer.stack);
  CHECK(layer.archive.at("W_Q").origin == "encoder.layer.1.attention.self.query.weight");
}

TEST_CASE("a decoder's layers are a tower too, refused by name where chosen") {
  const Names both =
      stacked("model.encoder.layers.", 1, fairseq_layer(false)) +
      stacked("model.decoder.layers.", 1,
              fairseq_layer(false) + four("encoder_attn.q_proj", "encoder_attn.k_proj",
                                          "encoder_attn.v_proj", "encoder_attn.out_proj"));
  CHECK(translate_error(both) ==
        "w.safetensors: holds several towers of layers, choose one by --prefix: "
        "model.decoder.layers. (1 layer of a kind that is not done), model.encoder.layers. (1 "
        "layer of whisper)");
  CHECK(translate_error(both, "", prefix("model.decoder.")) ==
        "w.safetensors: model.decoder.layers.0.encoder_attn.k_proj.weight: a decoder's "
        "attention to another sequence is not done; an encoder in the same file is chosen by "
        "--prefix");
  CHECK(scheme_of(both, "", prefix("model.encoder")) == "whisper");
}

TEST_CASE("attention alone is known in many names, with or without a prefix") {
  struct Case {
    const char* scheme;
    Names names;
  };
  const auto item = GENERATE(
      values<Case>({{"article", four("W_q", "W_k", "W_v", "W_o")},
                    {"q_proj", four("q_proj", "k_proj", "v_proj", "out_proj")},
                    {"q_proj", four("q_proj", "k_proj", "v_proj", "o_proj")},
                    {"query", four("query", "key", "value", "out")},
                    {"to_q", four("to_q", "to_k", "to_v", "to_out.0")},
                    {"wq", four("wq", "wk", "wv", "wo")},
                    {"W_query", four("W_query", "W_key", "W_value", "out_proj")},
                    {"distilbert-attention", four("q_lin", "k_lin", "v_lin", "out_lin") +
                                                 Names{{"q_lin.bias", {4}},
                                                       {"k_lin.bias", {4}},
                                                       {"v_lin.bias", {4}},
                                                       {"out_lin.bias", {4}}}},
                    {"multihead", {{"in_proj_weight", {12, 4}}, {"out_proj.weight", {4, 4}}}},
                    {"Wqkv", {{"Wqkv.weight", {12, 4}}, {"out_proj.weight", {4, 4}}}},
                    {"timm-vit-attention",
                     {{"qkv.weight", {12, 4}}, {"proj.weight", {4, 4}}, {"proj.bias", {4}}}},
                    {"keras",
                     {{"query/kernel:0", {4, 2, 2}},
                      {"key/kernel:0", {4, 2, 2}},
                      {"value/kernel:0", {4, 2, 2}},
                      {"attention_output/kernel:0", {2, 2, 4}}}}}));
  for (const std::string front : {"", "attn.", "model.block.self_attn."}) {
    INFO(front << item.scheme);
    const Translated result = translated(with_prefix(front, item.names));
    CHECK(result.scheme == item.scheme);
    CHECK_FALSE(result.stack);
  }
  const Translated stack = translated(stacked("layers.", 2, item.names, ".self_attn."));
  CHECK(stack.scheme == item.scheme);
  CHECK(stack.stack);
}

TEST_CASE("attention alone turns and masks as a family's only where a config names it") {
  const Names names =
      four("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj");
  CHECK(translated(names).defaults.empty());
  const Translated llama = translated(names, R"({"model_type": "llama"})");
  CHECK(llama.scheme == "llama-attention");
  CHECK(by_name(llama.defaults) ==
        std::map<std::string, std::string>{
            {"causal", "true"}, {"rope", "halves"}, {"rope_theta", "10000"}});
}

TEST_CASE("attention that its program merely numbers is no stack") {
  const Names one = {{"mha_3/query/kernel", {4, 2, 2}},
                     {"mha_3/key/kernel", {4, 2, 2}},
                     {"mha_3/value/kernel", {4, 2, 2}},
                     {"mha_3/attention_output/kernel", {2, 2, 4}}};
  CHECK_FALSE(translated(one).stack);
}

TEST_CASE("native names are left as they are") {
  const Names alone = {
      {"W_Q", {2, 4, 2}}, {"W_K", {2, 4, 2}}, {"W_V", {2, 4, 2}}, {"W_O", {2, 2, 4}}};
  const Translated result = translated(alone, R"({"n_heads": 2, "activation": "silu"})");
  CHECK(result.scheme == "native");
  CHECK_FALSE(result.stack);
  CHECK(result.archive.members.size() == 4);
  CHECK(by_name(result.config) ==
        std::map<std::string, std::string>{{"n_heads", "2"}, {"activation", "silu"}});
  CHECK(translated(stacked("layers.", 2, alone)).stack);
  CHECK(translate_error(alone, "", prefix("encoder.")) ==
        "w.safetensors: no layers under the prefix encoder.: the names are native, of one "
        "tower");
  CHECK(translated({{"heads[0].W_Q", {4, 2}}}).scheme == "native");
  CHECK(translated({{"W_K", {4, 4}}}).scheme == "native");
  CHECK(translated({{"w_q", {4, 4}}}).scheme == "native");  // which says what is meant
  CHECK(translated({{"", {4, 4}}}).scheme == "native");
}

TEST_CASE("names that no scheme knows are shown, with those that are known") {
  const std::string text = translate_error({{"a.b", {1}}, {"conv.weight", {1}}});
  CHECK(text.starts_with(
      "w.safetensors: no naming scheme knows these tensors: a.b, conv.weight; expected "));
  CHECK(text.find("bert") != std::string::npos);
}

TEST_CASE("a partial set names what is missing") {
  CHECK(translate_error(without(article(), "W_q.weight")) ==
        "w.safetensors: W_q.weight is missing, for what else is there is named like attention "
        "as four linear layers, W_q … W_o");
  CHECK(translate_error(without(without(article(), "W_o.weight"), "W_o.bias")) ==
        "w.safetensors: W_o.weight is missing (scheme article)");
  CHECK(translate_error(with_prefix("h.attn.", without(article(), "W_v.bias"))) ==
        "w.safetensors: h.attn.W_v.bias is missing (scheme article)");
  const Names bert = stacked("encoder.layer.", 4, bert_layer());
  CHECK(translate_error(without(bert, "encoder.layer.3.attention.self.value.weight")) ==
        "w.safetensors: encoder.layer.3.attention.self.value.weight is missing (scheme bert)");
  CHECK(translate_error(without(bert, "encoder.layer.2.attention.self.query.weight")) ==
        "w.safetensors: encoder.layer.2.attention.self.query.weight is missing (scheme bert)");
  CHECK(
      translate_error(without(with_prefix("x.", bert_layer()), "x.intermediate.dense.weight"))
          .starts_with("w.safetensors: x.intermediate.dense.weight is missing"));
}

TEST_CASE("families whose heads lie otherwise are refused by name") {
  const auto per_head = [](const std::string& attention) {
    return Names{{"h.0." + attention + ".query_key_value.weight", {12, 4}},
                 {"h.0." + attention + ".dense.weight", {4, 4}},
                 {"h.0.input_layernorm.weight", {4}},
                 {"h.0.mlp.dense_h_to_4h.weight", {6, 4}}};
  };
  CHECK(translate_error(per_head("attention")) ==
        "w.safetensors: h.: the names are those of GPT-NeoX: q, k and v of each head lie "
        "together in query_key_value, which is not done");
  CHECK(translate_error(per_head("self_attention")).find("BLOOM, Falcon") !=
        std::string::npos);
  CHECK(translate_error({{"layers.0.self_attn.in_proj_weight", {12, 4}},
                         {"layers.0.self_attn.out_proj.weight", {4, 4}},
                         {"layers.0.self_attn_layer_norm.weight", {4}},
                         {"layers.0.fc1.weight", {6, 4}},
                         {"layers.0.fc2.weight", {4, 6}},
                         {"layers.0.final_layer_norm.weight", {4}}})
            .find("fairseq's packed layers are not done") != std::string::npos);
}

TEST_CASE("a name in two spellings is refused") {
  CHECK(translate_error({{"a/W_q.weight", {4, 4}}, {"a.W_q.weight", {4, 4}}}) ==
        "w.safetensors: a/W_q.weight and a.W_q.weight are one name");
}

TEST_CASE("more towers than any model has are refused, and many names cost little") {
  Names many;
  for (int i = 0; i < 5'000; ++i) {
    const std::string front = "a" + std::to_string(i) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      many.push_back({front + name + ".weight", {1, 1}});
    }
  }
  CHECK(translate_error(many).starts_with(
      "w.safetensors: holds 5000 towers of layers, choose one by --prefix: a0., "));
  Names layers;
  for (int i = 0; i < 2'000; ++i) {
    const Names layer = with_prefix("encoder.layer." + std::to_string(i) + ".", bert_layer());
    layers.insert(layers.end(), layer.begin(), layer.end());
  }
  CHECK(translated(layers).archive.members.size() == 32'000);
  Names unknown;
  for (int i = 0; i < 100'000; ++i) unknown.push_back({"t" + std::to_string(i) + ".x", {1}});
  CHECK(translate_error(unknown).find("no naming scheme knows") != std::string::npos);
}
