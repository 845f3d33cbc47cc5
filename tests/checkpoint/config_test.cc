// What a config.json says in native terms.

#include "checkpoint/config.h"

#include "base/error.h"
#include "catch.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

using Strings = std::map<std::string, std::string>;

namespace {

const Scheme& row(const std::string& name) {
  for (const Scheme& scheme : schemes()) {
    if (scheme.name == name) return scheme;
  }
  throw Error("no row " + name);
}

SchemeSettings read(const std::string& text, const std::string& scheme = "bert",
                    const std::vector<std::size_t>& layers = {0, 1, 2}, bool stack = true,
                    bool rope_known = false) {
  const Config config = read_config(Bytes::own(text), "config.json");
  return settings_of(&config, row(scheme), layers, stack, rope_known);
}
Strings said(const std::string& text, const std::string& scheme = "bert") {
  return by_name(read(text, scheme).config);
}
std::string error(const std::string& text, const std::string& scheme = "bert") {
  return error_of([&] { read(text, scheme); });
}

}  // namespace

TEST_CASE("a config's keys become native settings, each with its source") {
  const SchemeSettings settings = read(R"({"hidden_size": 768, "num_attention_heads": 12,
      "num_hidden_layers": 6, "intermediate_size": 3072, "hidden_act": "gelu_new",
      "layer_norm_eps": 1e-12, "vocab_size": 5, "architectures": ["X"], "id2label": {"0": "a"}})");
  CHECK(by_name(settings.config) == Strings{{"d_model", "768"},
                                            {"n_heads", "12"},
                                            {"n_layers", "6"},
                                            {"d_ff", "3072"},
                                            {"activation", "gelu_tanh"},
                                            {"eps", "1e-12"}});
  CHECK(settings.config[0].name == "n_heads");
  CHECK(settings.config[0].source == "config.json: num_attention_heads");
}

TEST_CASE("each family's own keys are known") {
  CHECK(said(R"({"dim": 32, "hidden_dim": 48, "n_heads": 4, "n_layers": 2,
                 "activation": "gelu"})",
             "distilbert") == Strings{{"d_model", "32"},
                                      {"d_ff", "48"},
                                      {"n_heads", "4"},
                                      {"n_layers", "2"},
                                      {"activation", "gelu"}});
  CHECK(said(R"({"n_embd": 32, "n_head": 4, "n_layer": 2, "n_inner": null,
                 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5})",
             "gpt2") == Strings{{"d_model", "32"},
                                {"n_heads", "4"},
                                {"n_layers", "2"},
                                {"activation", "gelu_tanh"},
                                {"eps", "1e-5"}});
  CHECK(said(R"({"d_model": 32, "encoder_attention_heads": 4, "num_hidden_layers": 9,
                 "encoder_layers": 2, "encoder_ffn_dim": 48, "decoder_layers": 7})",
             "whisper") ==
        Strings{{"d_model", "32"}, {"n_heads", "4"}, {"n_layers", "2"}, {"d_ff", "48"}});
  CHECK(said(R"({"d_kv": 6, "num_heads": 4, "feed_forward_proj": "gated-gelu",
                 "relative_attention_max_distance": 11})",
             "t5-gated") == Strings{{"d_head", "6"},
                                    {"n_heads", "4"},
                                    {"activation", "gelu_tanh"},
                                    {"relative_distance", "11"}});
  CHECK(said(R"({"num_key_value_heads": 2, "head_dim": 12, "rms_norm_eps": 0.01,
                 "rope_theta": 500.0})",
             "llama") ==
        Strings{
            {"n_kv_heads", "2"}, {"d_head", "12"}, {"eps", "0.01"}, {"rope_theta", "500.0"}});
  // Here the number of key and value heads says nothing of attention.
  CHECK(said(R"({"num_key_value_heads": 4, "rope_interleave": false})", "deepseek") ==
        Strings{{"rope", "halves"}});
  CHECK(said(R"({"act_fn": "silu", "d_mlp": 48, "attention_dir": "bidirectional",
                 "eps": 1e-5})",
             "transformer-lens") ==
        Strings{{"activation", "silu"}, {"d_ff", "48"}, {"causal", "false"}, {"eps", "1e-5"}});
}

TEST_CASE("native names are keys as well") {
  CHECK(said(R"({"n_heads": 4, "norm": "pre", "norm_type": "rms", "activation": "quick_gelu",
                 "eps": 0.5, "scale": 1, "softcap": 30, "causal": true, "rope": "pairs",
                 "rope_theta": 99, "add_zero_attn": true, "gated": false, "window": 3})",
             "torch-layer") == Strings{{"n_heads", "4"},
                                       {"norm", "pre"},
                                       {"norm_type", "rms"},
                                       {"activation", "quick_gelu"},
                                       {"eps", "0.5"},
                                       {"scale", "1"},
                                       {"softcap", "30"},
                                       {"causal", "true"},
                                       {"rope", "pairs"},
                                       {"rope_theta", "99"},
                                       {"add_zero_attn", "true"},
                                       {"gated", "false"},
                                       {"window", "3"}});
}

TEST_CASE("activations are known by Hugging Face's words") {
  const auto [word, native] =
      GENERATE(table<std::string, std::string>({{"relu", "relu"},
                                                {"gelu", "gelu"},
                                                {"gelu_python", "gelu"},
                                                {"gelu_new", "gelu_tanh"},
                                                {"gelu_fast", "gelu_tanh"},
                                                {"gelu_pytorch_tanh", "gelu_tanh"},
                                                {"quick_gelu", "quick_gelu"},
                                                {"silu", "silu"},
                                                {"swish", "silu"},
                                                {"swiglu", "silu"}}));
  CHECK(said(R"({"hidden_act": ")" + word + "\"}") == Strings{{"activation", native}});
}

TEST_CASE("a value that means nothing names file and key") {
  CHECK(error(R"({"hidden_act": "mish"})") ==
        "config.json: hidden_act is \"mish\", expected one of relu, gelu, gelu_python, geglu, "
        "gelu_tanh, gelu_new, gelu_fast, gelu_pytorch_tanh, gated-gelu, quick_gelu, silu, "
        "swish, swiglu, gated-silu");
  CHECK(error(R"({"num_attention_heads": "4"})") ==
        "config.json: num_attention_heads is \"4\", expected a whole number from 1");
  CHECK(error(R"({"num_attention_heads": 0})") ==
        "config.json: num_attention_heads is 0, expected a whole number from 1");
  CHECK(error(R"({"num_attention_heads": 2.5})").find("whole number") != std::string::npos);
  CHECK(error(R"({"num_attention_heads": [4]})").find("is [4], expected") !=
        std::string::npos);
  CHECK(error(R"({"layer_norm_eps": -1})") ==
        "config.json: layer_norm_eps is -1, expected a number from 0");
  CHECK(error(R"({"rope_theta": 0})", "llama") ==
        "config.json: rope_theta is 0, expected a positive number");
  CHECK(error(R"({"norm_first": 1})", "torch-layer") ==
        "config.json: norm_first is 1, expected one of true, false");
  CHECK(error(R"({"layer_norm_eps": {"a": 1}})") ==
        "config.json: layer_norm_eps is an object, expected a value");
}

TEST_CASE("keys that contradict each other are refused, unless one is the family's own") {
  CHECK(error(R"({"num_attention_heads": 4, "n_heads": 2})") ==
        "config.json: num_attention_heads: n_heads is 4, but 2 by config.json: n_heads");
  CHECK(
      error(R"({"hidden_act": "gelu", "activation": "relu"})").find("relu by config.json: ") !=
      std::string::npos);
  CHECK(said(R"({"layer_norm_eps": 1e-5, "norm_eps": 0.00001})") == Strings{{"eps", "1e-5"}});
  CHECK(said(R"({"layer_norm_eps": 1e-12, "norm_eps": 1e-5})", "modernbert")["eps"] == "1e-5");
}

TEST_CASE("what is not done is refused by its key") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {R"({"position_embedding_type": "relative_key"})",
       "position_embedding_type is \"relative_key\": relative positions of this kind are not "
       "done"},
      {R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor is 0.5: partial rotary "},
      {R"({"rotary_emb_fraction": 0.5})", "no error"},
      {R"({"scale_attn_by_inverse_layer_idx": true})",
       "scale_attn_by_inverse_layer_idx is true: a scale by the layer's index is not done"},
      {R"({"parallel_block": true})", "parallel_block is true: "},
      {R"({"use_parallel_residual": true})", "use_parallel_residual is true: "},
      {R"({"alibi": true})", "alibi is true: ALiBi is not done"},
      {R"({"rope_scaling": {"type": "linear", "factor": 2.0}})",
       "rope_scaling.type is \"linear\": scaled rotary positions are not done"},
      {R"({"rope_scaling": {"rope_type": "yarn", "mscale": 1}})",
       "rope_scaling.rope_type is "},
      {R"({"rope_scaling": {"factor": 2.0}})", "rope_scaling.factor is 2.0: scaled rotary "},
      {R"({"rope_scaling": 2})", "rope_scaling is 2, expected an object or null"},
      {R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}})",
       "rope_parameters.rope_type is \"llama3\": "},
      {R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}})",
       "rope_parameters.partial_rotary_factor is 0.25: "},
      {R"({"use_qk_norm": true})", "use_qk_norm is true: "},
  }));
  INFO(text);
  CHECK(error(text, "llama").find(expected) != std::string::npos);
  CHECK(error(R"({"position_embedding_type": "absolute", "partial_rotary_factor": 1.0,
                  "rope_scaling": null, "scale_attn_by_inverse_layer_idx": false,
                  "rope_parameters": {"rope_type": "default", "rope_theta": 7}})",
              "llama") == "no error");
}

TEST_CASE("nomic-bert turns as its config says, whole heads or none") {
  CHECK(said(R"({"rotary_emb_fraction": 1.0, "rotary_emb_interleaved": true,
                 "rotary_emb_base": 500, "prenorm": false, "activation_function": "swiglu"})",
             "nomic-bert") == Strings{{"rope", "pairs"},
                                      {"rope_theta", "500"},
                                      {"norm", "post"},
                                      {"activation", "silu"}});
  CHECK(said(R"({"rotary_emb_fraction": 0.0, "rotary_emb_interleaved": true})",
             "nomic-bert") == Strings{{"rope", "none"}});
  CHECK(error(R"({"rotary_emb_fraction": 0.5})", "nomic-bert") ==
        "config.json: rotary_emb_fraction is 0.5: partial rotary positions are not done");
  CHECK(error(R"({"rotary_scaling_factor": 2})", "nomic-bert") ==
        "config.json: rotary_scaling_factor is 2: scaled rotary positions are not done");
}

TEST_CASE("GPT-2 without a scale has a scale of 1") {
  CHECK(said(R"({"scale_attn_weights": true})", "gpt2").empty());
  CHECK(said(R"({"scale_attn_weights": false})", "gpt2") == Strings{{"scale", "1"}});
}

TEST_CASE("a rotary base where nothing says which channels turn is refused") {
  CHECK(error(R"({"rope_theta": 1e4})") ==
        "config.json: rope_theta is 1e4, but scheme bert knows no rotary positions: say rope, "
        "halves or pairs");
  CHECK(error(R"({"rope_theta": 1e4, "rope": "halves"})") == "no error");
  CHECK(error(R"({"rope_theta": 1e4, "rope": "none"})") == "no error");
  CHECK(by_name(read(R"({"rope_theta": 1e4})", "bert", {0}, true, true).config) ==
        Strings{{"rope_theta", "1e4"}});
}

TEST_CASE("the section of a tower speaks for it, else the whole config does") {
  const std::string both = R"({"model_type": "clip", "num_attention_heads": 9,
      "text_config": {"num_attention_heads": 8, "model_type": "clip_text_model"},
      "vision_config": {"num_attention_heads": 12}})";
  const SchemeSettings text = read(both, "clip-text");
  CHECK(by_name(text.config) == Strings{{"n_heads", "8"}});
  CHECK(text.config[0].source == "config.json: text_config.num_attention_heads");
  CHECK(said(both, "clip-vision") == Strings{{"n_heads", "12"}});
  CHECK(said(R"({"num_attention_heads": 9})", "clip-text") == Strings{{"n_heads", "9"}});
  const Config config = read_config(Bytes::own(both), "config.json");
  CHECK(model_type_of(config, row("clip-text")) == "clip_text_model");
  CHECK(model_type_of(config, row("clip-vision")) == "clip");
}

TEST_CASE("Mistral's window hides keys from sliding_window back") {
  CHECK(said(R"({"sliding_window": 4096})", "mistral") == Strings{{"window", "4095"}});
  CHECK(said(R"({"sliding_window": null})", "mistral").empty());
  CHECK(said(R"({"sliding_window": 4096})", "llama").empty());
}

TEST_CASE("Qwen2 has windows only where they are switched on, and from a layer on") {
  CHECK(said(R"({"sliding_window": 4})", "qwen2").empty());
  CHECK(said(R"({"sliding_window": 4, "use_sliding_window": false})", "qwen2").empty());
  CHECK(said(R"({"sliding_window": 4, "use_sliding_window": true})", "qwen2") ==
        Strings{{"window", "3"}});
  CHECK(said(R"({"sliding_window": 4, "use_sliding_window": true, "max_window_layers": 2})",
             "qwen2") == Strings{{"layers.2.window", "3"}});
  CHECK(said(R"({"sliding_window": 4, "use_sliding_window": true, "max_window_layers": 0})",
             "qwen2") == Strings{{"window", "3"}});
}

TEST_CASE("ModernBERT's layers alternate, in both forms of its config") {
  const std::vector<std::size_t> layers = {0, 1, 2, 3};
  const SchemeSettings old = read(R"({"global_attn_every_n_layers": 2, "local_attention": 10,
               "global_rope_theta": 800.0, "local_rope_theta": 50.0})",
                                  "modernbert", layers);
  const Strings expected = {{"layers.1.window", "5"},         {"layers.3.window", "5"},
                            {"layers.0.rope_theta", "800.0"}, {"layers.1.rope_theta", "50.0"},
                            {"layers.2.rope_theta", "800.0"}, {"layers.3.rope_theta", "50.0"}};
  CHECK(by_name(old.config) == expected);
  const SchemeSettings newer = read(
      R"({"layer_types": ["full_attention", "sliding_attention", "full_attention",
                          "sliding_attention"], "local_attention": 10,
          "rope_parameters": {"full_attention": {"rope_theta": 800.0, "rope_type": "default"},
                              "sliding_attention": {"rope_theta": 50.0,
                                                    "rope_type": "default"}}})",
      "modernbert", layers);
  CHECK(by_name(newer.config) == expected);
  // No base of its own: the layers with a window have the others'.
  const SchemeSettings one =
      read(R"({"local_rope_theta": null, "global_rope_theta": 7})", "modernbert", layers);
  CHECK(by_name(one.config)["rope_theta"] == "7");
}

TEST_CASE("without a config ModernBERT's layers are those of its class") {
  const Strings defaults =
      by_name(settings_of(nullptr, row("modernbert"), {0, 1, 2, 3}, true, false).defaults);
  CHECK(defaults.at("layers.1.window") == "64");
  CHECK_FALSE(defaults.contains("layers.3.window"));
  CHECK(defaults.at("layers.2.rope_theta") == "10000");
  CHECK(defaults.at("layers.3.rope_theta") == "160000");
}

TEST_CASE("layers that differ in their windows need a number") {
  CHECK(error_of([] { read(R"({"local_attention": 8})", "modernbert", {0}, false); }) ==
        "config.json: local_attention: layers differ in their windows, and nothing says which "
        "layer this is: its names need a number");
  CHECK(error(R"({"layer_types": ["full_attention"], "local_attention": 8})", "modernbert")
            .ends_with("for each layer, found neither for layer 1"));
  CHECK(
      error(R"({"layer_types": ["full_attention", "linear", "full_attention"]})", "modernbert")
          .ends_with("for each layer, found neither for layer 1"));
}

TEST_CASE("a config beside the weights, or in their folder, is found") {
  const TempFolder folder;
  CHECK_FALSE(open_config("", folder / "w.safetensors").has_value());
  folder.write("config.json", R"({"num_attention_heads": 2})");
  for (const std::string& weights : {folder / "w.safetensors", folder.path().string()}) {
    const auto config = open_config("", weights);
    REQUIRE(config.has_value());
    CHECK(config->path == folder / "config.json");
    CHECK(config->find("num_attention_heads")->value == "2");
  }
  // Weights that are called so are no config of themselves.
  CHECK_FALSE(open_config("", folder / "config.json").has_value());
  const std::string other = folder.write("other.json", R"({"num_attention_heads": 3})");
  CHECK(open_config(other, folder / "w.safetensors")->find("num_attention_heads")->value ==
        "3");
  CHECK(fails_with(Fault::system, [&] { open_config(folder / "none.json", "w"); }));
  folder.write("config.json", "{");
  CHECK(
      error_of([&] { open_config("", folder / "w"); }).starts_with(folder / "config.json: "));
}
