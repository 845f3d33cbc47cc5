#include "checkpoint/settings.h"

#include "catch.h"
#include "checkpoint/layer_settings.h"
#include "checkpoint/native_json.h"
#include "checkpoint/scheme_file.h"

using namespace mha;
using namespace mha::native;

TEST_CASE("settings come from the option, else the file, else the default") {
  const auto plain = load(stacked());
  CHECK(in_force(plain, "scale") == "0.7071067811865475 (default, 1/sqrt(d_head))");
  CHECK(in_force(plain, "softcap") == "off (default)");
  CHECK(in_force(plain, "causal") == "off (default)");
  CHECK(in_force(plain, "n_heads") == "2 (shape of W_Q)");
  CHECK(in_force(plain, "d_head") == "2 (shape of W_Q)");
  CHECK_FALSE(plain.settings().scale);

  const Fields fields =
      with(stacked(), {{"scale", "1"}, {"softcap", "50.0"}, {"causal", "true"}});
  const auto by_file = load(fields);
  CHECK(by_file.settings().scale == 1.0);
  CHECK(by_file.settings().softcap == 50.0);
  CHECK(by_file.settings().causal == Causal::start);
  CHECK(in_force(by_file, "scale") == "1 (w.json)");
  CHECK(in_force(by_file, "causal") == "start (w.json)");

  ModelOptions options;
  options.scale = 0.25;
  options.softcap = 0.0;
  options.causal = Causal::off;
  const auto by_option = load(fields, options);
  CHECK(by_option.settings().scale == 0.25);
  CHECK(by_option.settings().softcap == 0.0);
  CHECK(by_option.settings().causal == Causal::off);
  CHECK(in_force(by_option, "scale") == "0.25 (--scale)");
  CHECK(in_force(by_option, "softcap") == "off (--softcap)");
  CHECK(in_force(by_option, "causal") == "off (--causal)");
}

TEST_CASE("causal has its words") {
  const auto causal = [](const std::string& value) {
    return load(with(stacked(), {{"causal", value}})).settings().causal;
  };
  CHECK(causal("true") == Causal::start);
  CHECK(causal("\"start\"") == Causal::start);
  CHECK(causal("\"end\"") == Causal::end);
  CHECK(causal("false") == Causal::off);
  CHECK(causal("\"off\"") == Causal::off);
  CHECK(refusal(with(stacked(), {{"causal", "\"left\""}})) ==
        "w.json: causal is \"left\", expected true, false, start, end or off");
}

TEST_CASE("settings with bad values are refused by name") {
  CHECK(refusal(with(stacked(), {{"scale", "\"big\""}})) ==
        "w.json: scale is \"big\", expected a positive number");
  CHECK(refusal(with(stacked(), {{"scale", "0"}})) ==
        "w.json: scale is \"0\", expected a positive number");
  CHECK(refusal(with(stacked(), {{"scale", "\"nan\""}})) ==
        "w.json: scale is \"nan\", expected a positive number");
  CHECK(refusal(with(stacked(), {{"softcap", "-1"}})) ==
        "w.json: softcap is \"-1\", expected a number from 0 (off)");
  CHECK(refusal(with(stacked(), {{"n_heads", "2.5"}})) ==
        "w.json: n_heads is \"2.5\", expected a whole number");
  CHECK(refusal(with(stacked(), {{"n_heads", "1e30"}})) ==
        "w.json: n_heads is \"1e30\", expected a whole number");
  CHECK(refusal(with(stacked(), {{"d_model", "5"}})) ==
        "w.json: d_model is 5, but 4 by the shape of W_Q");
  CHECK(load(with(stacked(), {{"d_model", "4"}, {"d_head", "2.0"}})).weights().sizes.d_model ==
        4);
}

TEST_CASE("unknown settings are refused; foreign metadata of safetensors is passed over") {
  const auto of_safetensors = [](const Fields& fields) {
    Archive archive = archive_of(fields);
    archive.container = "safetensors";
    return error_of([&] { load(archive); });
  };
  CHECK(refusal(with(stacked(), {{"n_head", "2"}})) ==
        "w.json: the setting n_head is unknown; did you mean n_heads?");
  CHECK(refusal(with(stacked(), {{"layers.0.widnow", "2"}})) ==
        "w.json: the setting layers.0.widnow is unknown; did you mean layers.0.window?");
  CHECK(refusal(with(stacked(), {{"format", "\"pt\""}})) ==
        "w.json: the setting format is unknown; known are n_heads, n_kv_heads, norm, "
        "norm_type, activation, gated, eps, scale, causal, softcap, rope, rope_theta, window, "
        "norm1, norm2, relative_distance, latent_eps, add_zero_attn, d_model, d_key, d_value, "
        "d_head, d_v, d_ff, d_rope, q_rank, kv_rank, n_layers, lower_case, strip_accents, "
        "split_chinese, text_begin, text_end");
  CHECK(of_safetensors(with(stacked(), {{"format", "\"pt\""}})) == "no error");
  CHECK(of_safetensors(with(stacked(), {{"n_head", "\"2\""}})) ==
        "w.json: the setting n_head is unknown; did you mean n_heads?");
}

namespace {

// What four voices say of a whole latent layer with norms, as resolve() sees it.
struct Voices {
  Fields file, config, scheme;
  ModelOptions options;

  std::string in_force(const std::string& name) const {
    Translated translated;
    translated.archive.path = "w.json";
    for (const auto& [setting, value] : file)
      translated.file.push_back({setting, value, "w.json"});
    for (const auto& [setting, value] : config)
      translated.config.push_back({setting, value, "config.json"});
    for (const auto& [setting, value] : scheme)
      translated.defaults.push_back({setting, value, "the scheme"});
    const SaidSettings said(options, translated, 1);
    FoundLayer layer;
    layer.sizes.attention = {4, 4, 4, 2, 2, 2, 2, false, false, 6, 7, 2};
    layer.sizes.d_ff = 3;
    layer.tensors = {
        {"norm1.weight", {}}, {"norm2.weight", {}}, {"relative_bias", {{8, 2}, {}, false}}};
    std::vector<SettingInForce> settings;
    resolve(translated.archive, said, layer, Part::layer, settings);
    for (const SettingInForce& setting : settings) {
      if (setting.name == name) return setting.value + " (" + setting.source + ")";
    }
    return "not listed";
  }
};

}  // namespace

TEST_CASE("every setting is the file's before the config's, the scheme's and the default") {
  struct Row {
    std::string name, file, config, scheme, otherwise;
  };
  const std::vector<Row> rows = {
      {"scale", "0.5", "2", "1", "0.7071067811865475 (default, 1/sqrt(d_head))"},
      {"softcap", "50", "30", "20", "off (default)"},
      {"causal", "end", "start", "end", "off (default)"},
      {"rope", "pairs", "halves", "none", "none (default)"},
      {"window", "3", "4", "5", "off (default)"},
      {"relative_distance", "64", "32", "256", "128 (default)"},
      {"latent_eps", "0.5", "0.25", "0.125", "1e-06 (default)"},
      {"add_zero_attn", "true", "false", "true", "false (default)"},
      {"norm", "pre", "post", "pre", "post (default)"},
      {"norm_type", "rms", "layer", "rms", "layer (default)"},
      {"activation", "silu", "quick_gelu", "gelu_tanh", "relu (default)"},
      {"eps", "0.5", "0.25", "0.125", "1e-05 (default)"}};
  for (const Row& row : rows) {
    Voices voices{
        {{row.name, row.file}}, {{row.name, row.config}}, {{row.name, row.scheme}}, {}};
    CHECK(voices.in_force(row.name) == row.file + " (w.json)");
    voices.file.clear();
    CHECK(voices.in_force(row.name) == row.config + " (config.json)");
    voices.config.clear();
    CHECK(voices.in_force(row.name) == row.scheme + " (the scheme)");
    voices.scheme.clear();
    CHECK(voices.in_force(row.name) == row.otherwise);
  }
}

TEST_CASE("an option wins over the file") {
  Voices voices;
  voices.file = {{"scale", "1"},         {"softcap", "1"},    {"causal", "start"},
                 {"rope", "none"},       {"rope_theta", "1"}, {"norm", "pre"},
                 {"activation", "relu"}, {"eps", "1"}};
  voices.options.scale = 0.5;
  voices.options.softcap = 0.0;
  voices.options.causal = Causal::off;
  voices.options.rope = Rope::pairs;
  voices.options.rope_theta = 500.0;
  voices.options.norm = NormPlacement::post;
  voices.options.activation = Activation::gelu;
  voices.options.eps = 1e-12;
  CHECK(voices.in_force("scale") == "0.5 (--scale)");
  CHECK(voices.in_force("softcap") == "off (--softcap)");
  CHECK(voices.in_force("causal") == "off (--causal)");
  CHECK(voices.in_force("rope") == "pairs (--rope)");
  CHECK(voices.in_force("rope_theta") == "500 (--rope-theta)");
  CHECK(voices.in_force("norm") == "post (--norm)");
  CHECK(voices.in_force("activation") == "gelu (--activation)");
  CHECK(voices.in_force("eps") == "1e-12 (--eps)");
}

TEST_CASE("a setting of one layer wins over the model's of the same voice only") {
  Voices voices;
  voices.file = {{"window", "3"}, {"layers.0.window", "4"}};
  CHECK(voices.in_force("window") == "4 (w.json)");
  voices.file = {{"window", "3"}};
  voices.config = {{"layers.0.window", "5"}};
  CHECK(voices.in_force("window") == "3 (w.json)");
  voices.file.clear();
  CHECK(voices.in_force("window") == "5 (config.json)");
}

TEST_CASE("a list where a setting has one value is refused, and not passed over") {
  Translated translated;
  translated.archive.path = "w.bin";
  translated.archive.container = "safetensors";
  translated.archive.lists = {{"tags", {"a"}}, {"vocabulary", {"the"}}};
  const auto read = [&] { SaidSettings(ModelOptions{}, translated, 2); };
  CHECK(error_of(read) == "no error");
  for (const std::string name : {"causal", "layers.1.window"}) {
    translated.archive.lists[name] = {"true"};
    CHECK(error_of(read) == "w.bin: " + name + " is a list of strings, expected one value");
    translated.archive.lists.erase(name);
  }
}

TEST_CASE("unknown values are refused with the known ones") {
  const auto bad = [](const std::string& name, const std::string& value) {
    return error_of([&] { Voices{{{name, value}}, {}, {}, {}}.in_force(name); });
  };
  CHECK(bad("norm", "both") == "w.json: norm is \"both\", expected post or pre");
  CHECK(bad("norm_type", "batch") == "w.json: norm_type is \"batch\", expected layer or rms");
  CHECK(bad("activation", "swish") ==
        "w.json: activation is \"swish\", expected relu, gelu, gelu_tanh, quick_gelu or silu");
  CHECK(bad("rope", "yes") == "w.json: rope is \"yes\", expected none, halves or pairs");
  CHECK(bad("gated", "1") == "w.json: gated is \"1\", expected true or false");
  CHECK(bad("add_zero_attn", "") == "w.json: add_zero_attn is \"\", expected true or false");
  CHECK(bad("eps", "0") == "w.json: eps is \"0\", expected a positive number");
  CHECK(bad("latent_eps", "-1") == "w.json: latent_eps is \"-1\", expected a positive number");
  CHECK(bad("window", "-2") == "w.json: window is \"-2\", expected a whole number or off");
  CHECK(bad("relative_distance", "a") ==
        "w.json: relative_distance is \"a\", expected a whole number");
  CHECK(bad("rope_theta", "10000") ==
        "w.json: rope_theta is 10000, but nothing says which channels turn together: rope is "
        "halves, pairs or none");
  CHECK(error_of([] {
          Voices{{}, {{"activation", "mish"}}, {}, {}}.in_force("activation");
        }).find("config.json: activation is \"mish\", expected relu") == 0);
}

TEST_CASE("sizes and the gate are held against the tensors") {
  const auto layer = [](const std::string& name, const std::string& value) {
    return refusal(with(whole_layer(), {{name, value}}));
  };
  CHECK(layer("d_ff", "4") == "w.json: d_ff is 4, but 3 by the shape of W_1");
  CHECK(layer("d_v", "4") == "w.json: d_v is 4, but 2 by the shape of W_V");
  CHECK(layer("layers.0.d_key", "5") ==
        "w.json: layers.0.d_key is 5, but 4 by the shape of W_K");
  CHECK(layer("n_layers", "2") == "w.json: n_layers is 2, but the weights hold 1 layer");
  CHECK(layer("gated", "true") == "w.json: gated is true, but there is no W_G");
  CHECK(refusal(with(whole_layer(), {{"W_G", counted({4, 3})}, {"gated", "false"}})) ==
        "w.json: gated is false, but there is W_G");
  CHECK(layer("d_ff", "3") == "no error");
}

TEST_CASE("rotary positions turn pairs of channels") {
  const Fields odd = {{"W_Q", counted({2, 4, 3})},
                      {"W_K", counted({2, 4, 3})},
                      {"W_V", counted({2, 4, 2})},
                      {"W_O", counted({2, 2, 4})},
                      {"rope", "\"halves\""}};
  CHECK(refusal(odd) ==
        "w.json: rope is halves, but d_head 3 is odd: positions turn pairs of channels");
  CHECK(in_force(load(with(odd, {{"rope", "\"none\""}, {"rope_theta", "500"}})),
                 "rope_theta") == "500 (w.json, not used)");
  const Loaded turned = load(with(stacked(), {{"rope", "\"pairs\""}, {"rope_theta", "500"}}));
  CHECK(turned.settings().rope == Rope::pairs);
  CHECK(turned.settings().rope_theta == 500.0);
}

TEST_CASE("what has nothing to act on is listed where it is said, and marked") {
  ModelOptions options;
  options.activation = Activation::gelu;
  options.norm = NormPlacement::post;
  const Loaded loaded = load(with(stacked(), {{"eps", "1e-5"}, {"gated", "true"}}), options);
  CHECK(in_force(loaded, "activation") == "gelu (--activation, not used)");
  CHECK(in_force(loaded, "norm") == "post (--norm, not used)");
  CHECK(in_force(loaded, "eps") == "1e-05 (w.json, not used)");
  CHECK(in_force(loaded, "gated") == "true (w.json, not used)");
  CHECK(in_force(load(stacked()), "activation") == "not listed");
  CHECK(in_force(load(stacked()), "norm") == "not listed");
  CHECK(in_force(load(stacked()), "relative_distance") == "not listed");
  options.norm = NormPlacement::pre;
  CHECK(refusal(stacked(), options) ==
        "w.json: norm1.weight is missing, expected [4] (d_model): norm is pre (--norm)");
}

TEST_CASE("a config's sizes are held against the shapes, its head counts give way to them") {
  const auto with_config = [](const std::string& text, const Fields& fields,
                              ModelOptions options = {}) {
    const ConfigFile config(text);
    options.config = config.path();
    std::string said = error_of([&] { load(fields, options); });
    const std::string folder = config.path().substr(0, config.path().rfind('/') + 1);
    for (std::size_t at = said.find(folder); at != said.npos; at = said.find(folder)) {
      said.erase(at, folder.size());
    }
    return said;
  };
  CHECK(with_config("{\"d_model\": 5}", stacked()) ==
        "config.json: d_model is 5, but 4 by the shape of W_Q");
  CHECK(with_config("{\"d_ff\": 5}", whole_layer()) ==
        "config.json: d_ff is 5, but 3 by the shape of W_1");
  CHECK(with_config("{\"hidden_size\": 5}", stacked()) ==
        "config.json: hidden_size: d_model is 5, but 4 by the shape of W_Q");
  // Of attention alone a config may say more.
  CHECK(with_config("{\"d_ff\": 5}", stacked()) == "no error");
  CHECK(with_config("{\"n_heads\": 2, \"d_head\": 3}", side_by_side()) ==
        "config.json: d_head is 3, but 2 by the shape of W_Q");
  CHECK(with_config("{\"n_heads\": 2, \"d_head\": 2}", side_by_side(), heads(4)) ==
        "no error");
  CHECK(with_config("{\"n_heads\": 2, \"n_kv_heads\": 2}", side_by_side(), heads(4)) ==
        "no error");
  CHECK(with_config("{\"n_heads\": 4, \"n_kv_heads\": 3}", side_by_side()) ==
        "w.json: n_kv_heads 3 (config.json: n_kv_heads) does not divide n_heads 4 "
        "(config.json: n_heads)");
  const Fields two = stack_of(whole_layer(), 2);
  CHECK(with_config("{\"n_layers\": 3}", two) ==
        "config.json: n_layers is 3, but the weights hold 2 layers; --layer A-B says "
        "which to run");
  CHECK(with_config("{\"n_layers\": 3}", two, layers(0, 1)) == "no error");
  CHECK(with_config("{\"n_layers\": 3}", whole_layer()) == "no error");
}
