#include "checkpoint/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigEntry::Kind;

const std::vector<std::string> kCounts = {
    "n_heads", "n_kv_heads", "d_model", "d_head",
    "d_ff",    "n_layers",   "window",  "relative_distance"};
const std::vector<std::string> kPositive = {"scale", "rope_theta"};
const std::vector<std::string> kFromZero = {"eps", "latent_eps", "softcap"};

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool is_same(const std::string& a, const std::string& b) {
  const auto value = number_of(a);
  return a == b || (value && value == number_of(b));
}

// "sliding_attention" layers, by the words of a list.
const std::string kFull = "full_attention";
const std::string kSliding = "sliding_attention";

// The keys of one tower.
class Reader {
 public:
  Reader(const Config& config, const Scheme& scheme)
      : config_(config), section_(section_of(config, scheme)) {}

  const ConfigEntry* find(const std::string& key) const {
    return config_.find(section_ + key);
  }
  bool is_null(const std::string& key) const {
    const auto found = config_.entries.find(section_ + key);
    return found != config_.entries.end() && found->second.kind == Kind::null;
  }
  std::string source(const std::string& key) const {
    return config_.path + ": " + section_ + key;
  }

  [[noreturn]] void refuse(const std::string& key, const ConfigEntry& entry,
                           const std::string& expected) const {
    throw Error(source(key) + " is " + shown(entry) + ", expected " + expected);
  }
  [[noreturn]] void refuse_undone(const std::string& key, const ConfigEntry& entry,
                                  const std::string& what) const {
    throw Error(source(key) + " is " + shown(entry) + ": " + what);
  }

  std::optional<std::size_t> count(const std::string& key) const {
    const ConfigEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    const auto value = entry->kind == Kind::number ? number_of(entry->value) : std::nullopt;
    // No model has 2^32 of anything.
    if (!value || *value < 1.0 || *value > 4294967296.0 || *value != std::floor(*value)) {
      refuse(key, *entry, "a whole number from 1");
    }
    return static_cast<std::size_t>(*value);
  }
  std::optional<bool> truth(const std::string& key) const {
    const ConfigEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->kind != Kind::boolean) refuse(key, *entry, "true or false");
    return entry->value == "true";
  }
  std::optional<std::string> number(const std::string& key, bool positive) const {
    const ConfigEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    const auto value = entry->kind == Kind::number ? number_of(entry->value) : std::nullopt;
    if (!value || *value < 0.0 || (positive && *value == 0.0)) {
      refuse(key, *entry, positive ? "a positive number" : "a number from 0");
    }
    return entry->value;
  }

  // What a key says of its native setting; nothing where it says nothing.
  std::optional<std::string> value_of(const ConfigKey& key) const {
    const ConfigEntry* entry = find(key.key);
    if (entry == nullptr) {
      refuse_object(key.key);
      return std::nullopt;
    }
    if (!key.values.empty()) return translated(key, *entry);
    // Words: as those of the setting's own name.
    for (const ConfigKey& common : common_keys()) {
      if (common.key != key.native || common.values.empty()) continue;
      return translated({key.key, key.native, common.values, key.undone}, *entry);
    }
    if (is_one_of(key.native, kCounts)) return std::to_string(*count(key.key));
    if (is_one_of(key.native, kPositive)) return number(key.key, true);
    if (is_one_of(key.native, kFromZero)) return number(key.key, false);
    return std::nullopt;
  }

  // Rotary positions whose angles are scaled, in the older and the newer form.
  void refuse_scaled_rope() const {
    for (const std::string key : {"rope_scaling", "rope_parameters"}) {
      const std::string prefix = section_ + key + ".";
      bool typed = false;
      const ConfigEntry* other = nullptr;
      for (auto at = config_.entries.lower_bound(prefix);
           at != config_.entries.end() && at->first.starts_with(prefix); ++at) {
        const ConfigEntry& entry = at->second;
        if (entry.kind == Kind::null) continue;
        const std::string name = at->first.substr(at->first.rfind('.') + 1);
        const std::string whole = at->first.substr(section_.size());
        if (name == "rope_type" || name == "type") {
          if (entry.value != "default")
            refuse_undone(whole, entry, "scaled rotary positions are not done");
          typed = true;
        } else if (name == "partial_rotary_factor") {
          if (number_of(entry.value) != 1.0) {
            refuse_undone(whole, entry, "partial rotary positions are not done");
          }
        } else if (name != "rope_theta") {
          other = &entry;
        }
      }
      if (other != nullptr && !typed) {
        refuse_undone(other->key.substr(section_.size()), *other,
                      "scaled rotary positions are not done");
      }
      const ConfigEntry* whole = find(key);
      if (whole != nullptr && whole->kind != Kind::object) {
        refuse(key, *whole, "an object or null");
      }
    }
  }

 private:
  // An object with keys, which alone are entries, where a value should be.
  void refuse_object(const std::string& key) const {
    const std::string prefix = section_ + key + ".";
    const auto within = config_.entries.lower_bound(prefix);
    if (within == config_.entries.end() || !within->first.starts_with(prefix)) return;
    throw Error(source(key) + " is an object, expected a value");
  }

  static std::string shown(const ConfigEntry& entry) {
    const std::string text = printable(entry.value.substr(0, 60));
    return entry.kind == Kind::string ? "\"" + text + "\"" : text;
  }

  std::optional<std::string> translated(const ConfigKey& key, const ConfigEntry& entry) const {
    std::vector<std::string> known;
    for (const auto& [value, native] : key.values) {
      if (value == entry.value) {
        return native.empty() ? std::nullopt : std::optional(native);
      }
      known.push_back(value);
    }
    if (!key.undone.empty()) refuse_undone(key.key, entry, key.undone);
    refuse(key.key, entry, "one of " + list_of(known, known.size()));
  }

  const Config& config_;
  std::string section_;
};

// A value, and what says it: "" for the row.
struct FromKey {
  std::string value;
  std::string source;
};

// Says `name` of all layers at once where it is the same for all, else layer by
// layer; nothing where a value is empty. A source of "" is the row.
void say(SchemeSettings& settings, const Scheme& scheme, const std::string& name,
         const std::vector<std::size_t>& layers, const std::vector<FromKey>& values) {
  const bool same = std::all_of(values.begin(), values.end(), [&](const FromKey& one) {
    return one.value == values[0].value && one.source == values[0].source;
  });
  for (std::size_t i = 0; i < values.size() && (i == 0 || !same); ++i) {
    const auto& [value, source] = values[i];
    if (value.empty()) continue;
    const std::string full = same ? name : "layers." + std::to_string(layers[i]) + "." + name;
    if (source.empty()) {
      settings.defaults.push_back({full, value, "scheme " + scheme.name});
    } else {
      settings.config.push_back({full, value, source});
    }
  }
}

// Windows of keys, and the bases of rotary positions that go with them.
void add_windows(SchemeSettings& settings, const Reader* reader, const Scheme& scheme,
                 const std::vector<std::size_t>& layers, bool stack) {
  const WindowRule& rule = scheme.windows;
  if (rule.key.empty()) return;
  const auto said = [&](const std::string& key) {
    return reader != nullptr && !key.empty() && reader->find(key) != nullptr;
  };
  const auto count = [&](const std::string& key, std::size_t otherwise) {
    return said(key) ? *reader->count(key) : otherwise;
  };
  const std::size_t width = count(rule.key, rule.width);
  bool on = width > 0;
  if (on && !rule.switch_key.empty()) {
    on = said(rule.switch_key) ? *reader->truth(rule.switch_key) : rule.switched_on;
  }
  const std::size_t every = count(rule.full_every_key, rule.full_every);
  // 0 is a layer here.
  const ConfigEntry* first_entry =
      said(rule.first_key) ? reader->find(rule.first_key) : nullptr;
  const std::size_t first =
      first_entry == nullptr || first_entry->value == "0" ? 0 : *reader->count(rule.first_key);
  const ConfigEntry* types = said("layer_types") ? reader->find("layer_types") : nullptr;
  if (!stack && on && (every > 0 || first > 0 || types != nullptr)) {
    throw Error((reader == nullptr ? "scheme " + scheme.name : reader->source(rule.key)) +
                ": layers differ in their windows, and nothing says which layer this is: its "
                "names need a number");
  }

  // A theta: by the newer key, by the older, by the row.
  const auto theta = [&](const std::string& type, const std::string& key,
                         const std::string& otherwise) -> FromKey {
    for (const std::string& place : {"rope_parameters." + type + ".rope_theta",
                                     std::string("rope_parameters.rope_theta"), key}) {
      if (said(place)) return {*reader->number(place, true), reader->source(place)};
    }
    return {otherwise, ""};
  };
  const FromKey full_theta = theta(kFull, rule.full_theta_key, rule.full_theta);
  FromKey window_theta = theta(kSliding, rule.window_theta_key, rule.window_theta);
  if (reader != nullptr && reader->is_null(rule.window_theta_key)) window_theta = full_theta;

  const std::string& width_key = said(rule.key) ? rule.key : rule.full_every_key;
  const std::string source = said(width_key)    ? reader->source(width_key)
                             : types != nullptr ? reader->source("layer_types")
                                                : "";
  std::vector<FromKey> windows;
  std::vector<FromKey> thetas;
  for (const std::size_t layer : layers) {
    bool windowed = on && layer >= first && (every == 0 || layer % every != 0);
    if (types != nullptr) {
      const bool there = types->kind == Kind::list && layer < types->items.size();
      if (!there || (types->items[layer] != kFull && types->items[layer] != kSliding)) {
        reader->refuse("layer_types", *types,
                       kFull + " or " + kSliding +
                           " for each layer, found neither for layer " +
                           std::to_string(layer));
      }
      windowed = on && types->items[layer] == kSliding;
    }
    windows.push_back(
        {windowed ? std::to_string(rule.both_sides ? width / 2 : width - 1) : "", source});
    thetas.push_back(windowed ? window_theta : full_theta);
  }
  say(settings, scheme, "window", layers, windows);
  if (full_theta.value.empty()) return;
  std::erase_if(settings.config, [](const Said& one) { return one.name == "rope_theta"; });
  say(settings, scheme, "rope_theta", layers, thetas);
}

bool says(const std::vector<Said>& said, const std::string& name) {
  return std::any_of(said.begin(), said.end(),
                     [&](const Said& one) { return one.name == name; });
}

bool turns(const std::vector<Said>& said) {
  return std::any_of(said.begin(), said.end(), [](const Said& one) {
    return one.name == "rope" && one.value != "none";
  });
}

// A family's own keys come first; of the others none may contradict another.
void read_keys(SchemeSettings& settings, const Reader& reader, const Scheme& scheme) {
  std::vector<Said>& said = settings.config;
  std::vector<std::string> own;
  auto of_family = std::ssize(scheme.keys);
  const auto add = [&](const ConfigKey& key) {
    const auto value = reader.value_of(key);
    if (!value) return;
    const auto before = std::find_if(said.begin(), said.end(),
                                     [&](const Said& one) { return one.name == key.native; });
    if (before == said.end()) {
      said.push_back({key.native, *value, reader.source(key.key)});
    } else if (before - said.begin() >= of_family && !is_same(before->value, *value)) {
      throw Error(reader.source(key.key) + ": " + key.native + " is " + *value + ", but " +
                  before->value + " by " + before->source);
    }
  };
  for (const ConfigKey& key : scheme.keys) {
    add(key);
    own.push_back(key.key);
  }
  of_family = std::ssize(said);
  for (const ConfigKey& key : common_keys()) {
    if (!is_one_of(key.key, own)) add(key);
  }
  reader.refuse_scaled_rope();
  for (const std::string key : {"rope_parameters.rope_theta", "rope_scaling.rope_theta"}) {
    add({key, "rope_theta"});
  }
}

}  // namespace

const ConfigEntry* Config::find(const std::string& key) const {
  const auto found = entries.find(key);
  return found == entries.end() || found->second.kind == Kind::null ? nullptr : &found->second;
}

Config read_config(const Bytes& bytes, const std::string& path) {
  Config config{path, {}};
  for (ConfigEntry& entry : parse_config(bytes, path)) {
    const std::string key = entry.key;
    config.entries.insert_or_assign(key, std::move(entry));
  }
  return config;
}

std::string file_beside(const std::string& weights, const std::string& name) {
  std::error_code error;
  const fs::path folder =
      fs::is_directory(weights, error) ? fs::path(weights) : fs::path(weights).parent_path();
  const fs::path beside = folder / name;
  if (!fs::is_regular_file(beside, error) || fs::equivalent(beside, weights, error)) return "";
  return beside.string();
}

std::optional<Config> open_config(const std::string& asked, const std::string& weights) {
  if (!asked.empty()) return read_config(Bytes::open(asked), source_name(asked));
  const std::string beside = file_beside(weights, "config.json");
  if (beside.empty()) return std::nullopt;
  return read_config(Bytes::open(beside), printable(beside));
}

std::string section_of(const Config& config, const Scheme& scheme) {
  for (const std::string& section : scheme.sections) {
    const std::string prefix = section + ".";
    const auto at = config.entries.lower_bound(prefix);
    if (at != config.entries.end() && at->first.starts_with(prefix)) return prefix;
  }
  return "";
}

std::string model_type_of(const Config& config, const Scheme& scheme) {
  for (const std::string& section : {section_of(config, scheme), std::string()}) {
    const ConfigEntry* entry = config.find(section + "model_type");
    if (entry == nullptr) continue;
    if (entry->kind == Kind::string) return entry->value;
    throw Error(config.path + ": " + section + "model_type is " + printable(entry->value) +
                ", expected a name");
  }
  return "";
}

std::optional<SaidCount> count_said(const Config& config, const Scheme& scheme,
                                    const std::string& key) {
  const Reader reader(config, scheme);
  const auto count = reader.count(key);
  if (!count) return std::nullopt;
  return SaidCount{*count, reader.source(key)};
}

SchemeSettings settings_of(const Config* config, const Scheme& scheme,
                           const std::vector<std::size_t>& layers, bool stack,
                           bool rope_known) {
  SchemeSettings settings;
  std::optional<Reader> reader;
  if (config != nullptr) reader.emplace(*config, scheme);
  if (reader) read_keys(settings, *reader, scheme);
  for (const auto& [name, value] : scheme.defaults) {
    settings.defaults.push_back({name, value, "scheme " + scheme.name});
  }
  add_windows(settings, reader ? &*reader : nullptr, scheme, layers, stack);
  if (!rope_known && !turns(settings.config) && !turns(settings.defaults) &&
      !says(settings.config, "rope")) {
    for (const Said& said : settings.config) {
      if (said.name != "rope_theta") continue;
      throw Error(said.source + " is " + said.value + ", but scheme " + scheme.name +
                  " knows no rotary positions: say rope, halves or pairs");
    }
  }
  return settings;
}

}  // namespace mha
