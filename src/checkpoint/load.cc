#include "checkpoint/load.h"

#include "base/error.h"
#include "checkpoint/native.h"
#include "files/format.h"

namespace mha {
namespace {

// A head count from the option or the file, which must not contradict.
HeadCount head_count(const Archive& archive, const char* name, const char* option,
                     std::optional<std::size_t> asked, std::optional<std::size_t> in_file) {
  if (asked && in_file && *asked != *in_file) {
    throw Error(archive.path + ": " + name + " is " + std::to_string(*in_file) + ", " +
                option + " says " + std::to_string(*asked));
  }
  if (asked) return {asked, option};
  if (in_file) return {in_file, archive.path};
  return {};
}

std::string source_of(bool asked, const char* option, bool in_file, const std::string& path) {
  return asked ? option : in_file ? path : "default";
}

const char* name_of(Causal causal) {
  switch (causal) {
    case Causal::off: break;
    case Causal::start: return "start";
    case Causal::end: return "end";
  }
  return "off";
}

}  // namespace

template <typename T>
LoadedAttention<T> load_attention(const Archive& archive, const ModelOptions& options) {
  const FileSettings file = read_settings(archive);
  HeadCount n_heads =
      head_count(archive, "n_heads", "--n-heads", options.n_heads, file.n_heads);
  HeadCount n_kv_heads =
      head_count(archive, "n_kv_heads", "--n-kv-heads", options.n_kv_heads, file.n_kv_heads);

  LoadedAttention<T> loaded;
  loaded.weights = read_native<T>(archive, n_heads, n_kv_heads, options.allow_nonfinite);
  const AttentionSizes& sizes = loaded.weights.sizes;
  auto& in_force = loaded.in_force;
  const auto add = [&](const std::string& name, const std::string& value,
                       const std::string& source) {
    in_force.push_back({name, value, source});
  };

  add("n_heads", std::to_string(sizes.n_heads), n_heads.source);
  add("n_kv_heads", std::to_string(sizes.n_kv_heads), n_kv_heads.source);
  const auto add_size = [&](const std::string& name, std::size_t size, const char* tensor) {
    const auto said = file.sizes.find(name);
    if (said != file.sizes.end() && said->second != size) {
      throw Error(archive.path + ": " + name + " is " + std::to_string(said->second) +
                  ", but " + std::to_string(size) + " by the shape of " + tensor);
    }
    add(name, std::to_string(size), std::string("shape of ") + tensor);
  };
  add_size("d_model", sizes.d_model, "W_Q");
  add_size("d_key", sizes.d_key, "W_K");
  add_size("d_value", sizes.d_value, "W_V");
  add_size("d_head", sizes.d_head, "W_Q");
  add_size("d_v", sizes.d_v, "W_V");

  AttentionSettings& settings = loaded.settings;
  settings.allow_nonfinite = options.allow_nonfinite;
  settings.scale = options.scale ? options.scale : file.scale;
  add("scale", format_number(scale_of(settings, sizes.d_head)),
      settings.scale ? source_of(options.scale.has_value(), "--scale", file.scale.has_value(),
                                 archive.path)
                     : "default, 1/sqrt(d_head)");
  settings.softcap = options.softcap.value_or(file.softcap.value_or(settings.softcap));
  add("softcap", settings.softcap == 0.0 ? "off" : format_number(settings.softcap),
      source_of(options.softcap.has_value(), "--softcap", file.softcap.has_value(),
                archive.path));
  settings.causal = options.causal.value_or(file.causal.value_or(settings.causal));
  add("causal", name_of(settings.causal),
      source_of(options.causal.has_value(), "--causal", file.causal.has_value(),
                archive.path));
  in_force.insert(in_force.end(), file.unused.begin(), file.unused.end());
  return loaded;
}

template LoadedAttention<float> load_attention(const Archive&, const ModelOptions&);
template LoadedAttention<double> load_attention(const Archive&, const ModelOptions&);

}  // namespace mha
