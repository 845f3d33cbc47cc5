#include "checkpoint/layer_settings.h"

#include <algorithm>

#include "base/error.h"
#include "files/format.h"

namespace mha {
namespace {

std::string number(double value) { return format_number(value); }
std::string or_off(double value) { return value == 0.0 ? "off" : format_number(value); }
std::string count_text(std::size_t value) { return std::to_string(value); }
std::string flag_text(bool value) { return value ? "true" : "false"; }

class Resolver {
 public:
  Resolver(const Archive& archive, const SaidSettings& said, const FoundLayer& layer,
           std::vector<SettingInForce>& in_force)
      : archive_(archive), said_(said), layer_(layer), in_force_(in_force) {}

  const Said* find(const std::string& name) const { return said_.find(layer_.index, name); }
  bool has(const std::string& tensor) const { return layer_.tensors.contains(tensor); }

  void list(const std::string& name, const std::string& value, const std::string& source) {
    in_force_.push_back({name, value, source});
  }

  // A setting by the weightiest voice, else as it is. What nothing asks for is
  // listed where it is said.
  template <typename Value, typename Read, typename Show>
  void set(const std::string& name, Value& value, bool used, Read read, Show show) {
    const Said* said = find(name);
    if (said != nullptr) value = read(*said);
    if (said == nullptr && !used) return;
    list(name, std::string(show(value)),
         (said == nullptr ? "default" : said->source) + (used ? "" : ", not used"));
  }
  template <typename Value>
  void set_word(const std::string& name, Value& value, bool used) {
    set(name, value, used, read_word<Value>, name_of_value<Value>);
  }

  // A size that the shapes tell, held against all that say it.
  void size(const std::string& name, std::size_t value, const std::string& tensor) {
    const bool of_heads = name == "d_head" || name == "d_v" || name == "d_rope";
    for (const Voice voice : {Voice::file, Voice::config, Voice::scheme}) {
      // A config that means other heads means heads of another width.
      if (of_heads && voice != Voice::file && overruled(layer_.n_heads)) continue;
      const Said* said = said_.find(voice, layer_.index, name);
      if (said == nullptr || read_count(*said) == value) continue;
      throw Error(subject(*said) + " is " + count_text(read_count(*said)) + ", but " +
                  count_text(value) + " by the shape of " + layer_.prefix + tensor);
    }
    list(name, count_text(value), "shape of " + layer_.prefix + tensor);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(archive_.path + ": " + what);
  }

 private:
  const Archive& archive_;
  const SaidSettings& said_;
  const FoundLayer& layer_;
  std::vector<SettingInForce>& in_force_;
};

void list_sizes(Resolver& resolver, const FoundLayer& layer) {
  const AttentionSizes& sizes = layer.sizes.attention;
  const bool latent = sizes.kv_rank > 0;
  resolver.list("n_heads", count_text(sizes.n_heads), layer.n_heads.source);
  resolver.list("n_kv_heads", count_text(sizes.n_kv_heads), layer.n_kv_heads.source);
  resolver.size("d_model", sizes.d_model, latent ? "W_DKV" : "W_Q");
  if (!latent) {
    resolver.size("d_key", sizes.d_key, "W_K");
    resolver.size("d_value", sizes.d_value, "W_V");
  }
  resolver.size("d_head", sizes.d_head, latent ? "W_UQ" : "W_Q");
  resolver.size("d_v", sizes.d_v, latent ? "W_UV" : "W_V");
  if (sizes.q_rank > 0) resolver.size("q_rank", sizes.q_rank, "W_DQ");
  if (latent) resolver.size("kv_rank", sizes.kv_rank, "W_DKV");
  if (sizes.d_rope > 0) resolver.size("d_rope", sizes.d_rope, "W_QR");
  if (layer.sizes.d_ff > 0) resolver.size("d_ff", layer.sizes.d_ff, "W_1");
}

void set_rope(Resolver& resolver, const AttentionSizes& sizes, AttentionSettings& settings) {
  const Said* layout = resolver.find("rope");
  const Said* theta = resolver.find("rope_theta");
  if (theta != nullptr && layout == nullptr) {
    throw Error(subject(*theta) + " is " + theta->value +
                ", but nothing says which channels turn together: rope is halves, pairs or "
                "none");
  }
  resolver.set_word("rope", settings.rope, true);
  const bool turns = settings.rope != Rope::none;
  resolver.set("rope_theta", settings.rope_theta, turns, read_positive, number);
  const bool latent = sizes.kv_rank > 0;
  const std::size_t width = latent ? sizes.d_rope : sizes.d_head;
  if (turns && width % 2 != 0) {
    throw Error(subject(*layout) + " is " + layout->value + ", but " +
                (latent ? "d_rope " : "d_head ") + count_text(width) +
                " is odd: positions turn pairs of channels");
  }
}

// Half of the buckets are one direction's, half of those a distance each
// (layer/relative_bias.h).
void require_distance(const Resolver& resolver, const FoundLayer& layer,
                      std::size_t distance) {
  const auto bias = layer.tensors.find("relative_bias");
  if (bias == layer.tensors.end() || distance > bias->second.shape[0] / 4) return;
  const Said* said = resolver.find("relative_distance");
  resolver.fail("relative_distance is " + count_text(distance) + " (" +
                (said == nullptr ? "default" : said->source) + "), expected more than " +
                count_text(bias->second.shape[0] / 4) + ", a quarter of the buckets of " +
                layer.prefix + "relative_bias");
}

void set_attention(Resolver& resolver, FoundLayer& layer, AttentionSettings& settings) {
  AttentionSizes& sizes = layer.sizes.attention;
  const Said* scale = resolver.find("scale");
  if (scale != nullptr) settings.scale = read_positive(*scale);
  resolver.list("scale", number(scale_of(settings, sizes.d_head)),
                scale != nullptr ? scale->source : "default, 1/sqrt(d_head)");
  const auto read_cap = [](const Said& said) {
    return said.value == "off" ? 0.0 : read_from_zero(said, "a number from 0 (off)");
  };
  resolver.set("softcap", settings.softcap, true, read_cap, or_off);
  resolver.set("causal", settings.causal, true, read_causal, name_of_value<Causal>);
  set_rope(resolver, sizes, settings);

  const auto read_window = [](const Said& said) {
    return said.value == "off" ? std::nullopt
                               : std::optional(read_count(said, "a whole number or off"));
  };
  resolver.set("window", settings.window, true, read_window,
               [](auto window) { return window ? count_text(*window) : "off"; });
  resolver.set(
      "relative_distance", settings.relative_distance, resolver.has("relative_bias"),
      [](const Said& said) { return read_count(said); }, count_text);
  require_distance(resolver, layer, settings.relative_distance);
  resolver.set("latent_eps", settings.latent_eps, sizes.kv_rank > 0, read_positive, number);
  resolver.set("add_zero_attn", sizes.zero_key, true, read_flag, flag_text);
}

// Whether a layer has one of its norms; a setting may say that it has none.
bool has_norm(Resolver& resolver, const std::string& norm) {
  const bool there = resolver.has(norm + ".weight");
  const Said* said = resolver.find(norm);
  if (said == nullptr) return there;
  if (said->value != "none") refuse(*said, "none, or the tensor " + norm + ".weight");
  if (there) {
    throw Error(subject(*said) + " is none, but there is a tensor " + norm + ".weight");
  }
  resolver.list(norm, "none", said->source);
  return false;
}

void require_norm(Resolver& resolver, const FoundLayer& layer, const std::string& norm,
                  const std::string& why) {
  if (has_norm(resolver, norm) || resolver.find(norm) != nullptr) return;
  resolver.fail(layer.prefix + norm + ".weight is missing, expected [" +
                count_text(layer.sizes.attention.d_model) + "] (d_model): " + why);
}

void set_norms(Resolver& resolver, const FoundLayer& layer, LayerSettings& settings) {
  const bool whole = settings.part == Part::layer;
  const bool any = resolver.has("norm1.weight") || resolver.has("norm2.weight");
  resolver.set_word("norm", settings.norm, any);
  const bool used = any && (whole || settings.norm == NormPlacement::pre);
  resolver.set_word("norm_type", settings.norm_type, used);
  resolver.set("eps", settings.eps, used, read_positive, number);
  if (whole) {
    require_norm(resolver, layer, "norm1", "a whole layer has norm1 and norm2");
    require_norm(resolver, layer, "norm2", "a whole layer has norm1 and norm2");
  } else if (settings.norm == NormPlacement::pre) {
    require_norm(resolver, layer, "norm1",
                 "norm is pre (" + resolver.find("norm")->source + ")");
  }
}

void set_feed_forward(Resolver& resolver, const FoundLayer& layer, LayerSettings& settings) {
  resolver.set_word("activation", settings.activation, settings.part == Part::layer);
  const Said* gated = resolver.find("gated");
  if (layer.sizes.d_ff == 0) {
    if (gated != nullptr) {
      resolver.list("gated", flag_text(read_flag(*gated)), gated->source + ", not used");
    }
    return;
  }
  const std::string there = layer.sizes.gated ? "there is W_G" : "there is no W_G";
  if (gated != nullptr && read_flag(*gated) != layer.sizes.gated) {
    throw Error(subject(*gated) + " is " + gated->value + ", but " + there);
  }
  resolver.list("gated", flag_text(layer.sizes.gated), there);
}

}  // namespace

HeadCount said_heads(const SaidSettings& said, std::size_t layer, const std::string& name) {
  HeadCount count{name, std::nullopt, "", std::nullopt, ""};
  const Said* option = said.find(Voice::option, layer, name);
  const Said* file = said.find(Voice::file, layer, name);
  if (option != nullptr && file != nullptr && read_count(*option) != read_count(*file)) {
    throw Error(subject(*file) + " is " + count_text(read_count(*file)) + ", " +
                option->source + " says " + count_text(read_count(*option)));
  }
  if (const Said* firm = option != nullptr ? option : file) {
    count.said = read_count(*firm);
    count.source = firm->source;
  }
  const Said* config = said.find(Voice::config, layer, name);
  if (config == nullptr) config = said.find(Voice::scheme, layer, name);
  if (config != nullptr) {
    count.config = read_count(*config);
    count.config_source = config->source;
  }
  return count;
}

LayerSettings resolve(const Archive& archive, const SaidSettings& said, FoundLayer& layer,
                      Part part, std::vector<SettingInForce>& in_force) {
  Resolver resolver(archive, said, layer, in_force);
  LayerSettings settings;
  settings.part = part;
  list_sizes(resolver, layer);
  set_attention(resolver, layer, settings.attention);
  set_norms(resolver, layer, settings);
  set_feed_forward(resolver, layer, settings);
  return settings;
}

std::vector<SettingInForce> merge(const std::vector<FoundLayer>& layers,
                                  const std::vector<std::vector<SettingInForce>>& in_force) {
  std::vector<std::string> names;  // in the order of the first layer that has them
  std::map<std::string, std::vector<const SettingInForce*>> by_name;  // one a layer, or null
  for (std::size_t i = 0; i < in_force.size(); ++i) {
    for (const SettingInForce& setting : in_force[i]) {
      auto& of_layers = by_name[setting.name];
      if (of_layers.empty()) names.push_back(setting.name);
      of_layers.resize(in_force.size());
      of_layers[i] = &setting;
    }
  }
  std::vector<SettingInForce> merged;
  for (const std::string& name : names) {
    const auto& of_layers = by_name[name];
    const bool one = std::all_of(of_layers.begin(), of_layers.end(), [&](const auto* setting) {
      return setting != nullptr && setting->value == of_layers[0]->value;
    });
    if (one) {
      merged.push_back(*of_layers[0]);
      continue;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (of_layers[i] == nullptr) continue;
      merged.push_back({"layers." + std::to_string(layers[i].index) + "." + name,
                        of_layers[i]->value, of_layers[i]->source});
    }
  }
  return merged;
}

}  // namespace mha
