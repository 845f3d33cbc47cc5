#include "checkpoint/settings.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

const std::vector<std::string>& known_settings() {
  static const std::vector<std::string> known = {
      "n_heads",    "n_kv_heads",    "norm",          "norm_type",
      "activation", "gated",         "eps",           "scale",
      "causal",     "softcap",       "rope",          "rope_theta",
      "window",     "norm1",         "norm2",         "relative_distance",
      "latent_eps", "add_zero_attn", "d_model",       "d_key",
      "d_value",    "d_head",        "d_v",           "d_ff",
      "d_rope",     "q_rank",        "kv_rank",       "n_layers",
      "lower_case", "strip_accents", "split_chinese", "text_begin",
      "text_end"};
  return known;
}

// "layers.3.window" taken apart; of the whole model there is no layer.
struct SettingName {
  std::optional<std::size_t> layer;
  std::string prefix;  // "layers.3."
  std::string name;
};

SettingName parse(const std::string& name) {
  const std::string layers = "layers.";
  SettingName parsed{std::nullopt, "", name};
  if (!name.starts_with(layers)) return parsed;
  const char* const end = name.data() + name.size();
  std::size_t index = 0;
  const auto [dot, failure] = std::from_chars(name.data() + layers.size(), end, index);
  if (failure != std::errc() || dot == end || *dot != '.') return parsed;
  parsed.layer = index;
  parsed.prefix = layers + std::to_string(index) + ".";
  parsed.name = std::string(dot + 1, end);
  return parsed;
}

void require_known(const Archive& archive, const Said& said, const SettingName& parsed,
                   std::size_t n_layers) {
  if (!is_one_of(parsed.name, known_settings())) {
    const std::string near = nearest(parsed.name, known_settings());
    if (archive.container == "safetensors" && near.empty()) return;
    throw Error(said.source + ": the setting " + printable(said.name) + " is unknown; " +
                (near.empty() ? "known are " + list_of(known_settings(), 40)
                              : "did you mean " + parsed.prefix + near + "?"));
  }
  if (parsed.layer && *parsed.layer >= n_layers) {
    throw Error(said.source + ": " + printable(said.name) + ": " +
                layer_not_there(*parsed.layer, n_layers));
  }
}

}  // namespace

SaidSettings::SaidSettings(const ModelOptions& options, const Translated& translated,
                           std::size_t n_layers) {
  for (const Said& said : translated.file) {
    require_known(translated.archive, said, parse(said.name), n_layers);
  }
  for (const auto& [name, strings] : translated.archive.lists) {
    if (!is_one_of(parse(name).name, known_settings())) continue;
    throw Error(translated.archive.path + ": " + printable(name) +
                " is a list of strings, expected one value");
  }
  const std::vector<Said> by_option = said_by(options);
  std::size_t voice = 0;
  for (const auto* all :
       {&by_option, &translated.file, &translated.config, &translated.defaults}) {
    for (const Said& said : *all) {
      const SettingName parsed = parse(said.name);
      voices_[voice].emplace(parsed.prefix + parsed.name, said);
    }
    ++voice;
  }
}

const Said* SaidSettings::find(Voice voice, std::size_t layer, const std::string& name) const {
  const auto& said = voices_[static_cast<std::size_t>(voice)];
  for (const std::string& key : {"layers." + std::to_string(layer) + "." + name, name}) {
    const auto place = said.find(key);
    if (place != said.end()) return &place->second;
  }
  return nullptr;
}

const Said* SaidSettings::find(std::size_t layer, const std::string& name) const {
  for (const Voice voice : {Voice::option, Voice::file, Voice::config, Voice::scheme}) {
    if (const Said* said = find(voice, layer, name)) return said;
  }
  return nullptr;
}

std::string subject(const Said& said) {
  const std::string name = ": " + printable(said.name);
  return said.source.ends_with(name) ? said.source : said.source + name;
}

void refuse(const Said& said, const std::string& expected) {
  throw Error(subject(said) + " is \"" + printable(said.value) + "\", expected " + expected);
}

double read_number(const Said& said, const std::string& expected) {
  double value = 0.0;
  const char* const end = said.value.data() + said.value.size();
  const auto result = std::from_chars(said.value.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    refuse(said, expected);
  }
  return value;
}

double read_positive(const Said& said) {
  const std::string expected = "a positive number";
  const double value = read_number(said, expected);
  if (value <= 0.0) refuse(said, expected);
  return value;
}

double read_from_zero(const Said& said, const std::string& expected) {
  const double value = read_number(said, expected);
  if (value < 0.0) refuse(said, expected);
  return value;
}

std::size_t read_count(const Said& said, const std::string& expected) {
  const double value = read_number(said, expected);
  // Containers may spell 2 as "2.0"; no model has 2^32 of anything.
  if (value < 0.0 || value > 4294967296.0 || value != std::floor(value)) {
    refuse(said, expected);
  }
  return static_cast<std::size_t>(value);
}

bool read_flag(const Said& said) {
  if (said.value == "true") return true;
  if (said.value == "false") return false;
  refuse(said, "true or false");
}

Causal read_causal(const Said& said) {
  if (said.value == "true") return Causal::start;
  if (said.value == "false") return Causal::off;
  if (const auto causal = value_named<Causal>(said.value)) return *causal;
  refuse(said, "true, false, start, end or off");
}

std::string one_of(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace mha
