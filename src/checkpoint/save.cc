#include "checkpoint/save.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/format.h"
#include "files/member_view.h"

namespace mha {
namespace {

using Settings = std::map<std::string, std::string>;

// Parts that a layer may do without.
struct Parts {
  bool norm1 = false;
  bool norm2 = false;
  bool last_norm = false;  // of the stack
  bool relative_bias = false;
};

// Everything a layer computes by, as far as it has the parts for it, defaults
// too: a config.json that comes to lie beside the file must not speak for them.
Settings settings_of(const LayerSettings& layer, const LayerSizes& sizes, const Parts& has) {
  const AttentionSettings& attention = layer.attention;
  Settings settings;
  const auto name_value = [&](const std::string& name, auto value) {
    settings[name] = std::string(name_of_value(value));
  };
  settings["n_heads"] = std::to_string(sizes.attention.n_heads);
  settings["n_kv_heads"] = std::to_string(sizes.attention.n_kv_heads);
  settings["scale"] = format_number(scale_of(attention, sizes.attention.d_head));
  settings["softcap"] = format_number(attention.softcap);
  name_value("causal", attention.causal);
  name_value("rope", attention.rope);
  if (attention.rope != Rope::none) {
    settings["rope_theta"] = format_number(attention.rope_theta);
  }
  settings["window"] = attention.window ? std::to_string(*attention.window) : "off";
  if (has.relative_bias) {
    settings["relative_distance"] = std::to_string(attention.relative_distance);
  }
  if (sizes.attention.kv_rank != 0) {
    settings["latent_eps"] = format_number(attention.latent_eps);
  }
  settings["add_zero_attn"] = sizes.attention.zero_key ? "true" : "false";
  if (sizes.d_ff != 0) {
    name_value("activation", layer.activation);
    settings["gated"] = sizes.gated ? "true" : "false";
  }
  // A whole layer without a norm has to say so.
  if (sizes.d_ff != 0 && !has.norm1) settings["norm1"] = "none";
  if (sizes.d_ff != 0 && !has.norm2) settings["norm2"] = "none";
  if (sizes.d_ff != 0 || has.norm1 || has.last_norm) {
    name_value("norm", layer.norm);
    name_value("norm_type", layer.norm_type);
    settings["eps"] = format_number(layer.eps);
  }
  return settings;
}

// Once what all layers say, the rest for each.
Settings join(const std::vector<Settings>& layers, bool stack) {
  if (!stack) return layers.front();
  Settings joined = layers.front();
  for (const Settings& layer : layers) {
    std::erase_if(joined, [&](const auto& said) {
      const auto found = layer.find(said.first);
      return found == layer.end() || found->second != said.second;
    });
  }
  for (std::size_t index = 0; index < layers.size(); ++index) {
    for (const auto& [name, value] : layers[index]) {
      if (joined.contains(name)) continue;
      joined["layers." + std::to_string(index) + "." + name] = value;
    }
  }
  return joined;
}

// The matrix that a layer takes as files have it: the heads, which stand side
// by side in it, an axis in front. W_O's stand below each other.
Member with_heads(Member matrix, std::string_view name, const AttentionSizes& sizes) {
  const auto is_one_of = [name](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_one_of({"W_O", "b_Q"})) return split(std::move(matrix), 0, sizes.n_heads);
  if (is_one_of({"b_K", "b_V", "bias_k", "bias_v"})) {
    return split(std::move(matrix), 0, sizes.n_kv_heads);
  }
  const bool of_heads = is_one_of({"W_Q", "W_UQ", "W_QR", "W_UK", "W_UV"});
  if (!of_heads && !is_one_of({"W_K", "W_V"})) return matrix;
  const std::size_t heads = of_heads ? sizes.n_heads : sizes.n_kv_heads;
  return permute(split(std::move(matrix), 1, heads), {1, 0, 2});
}

template <typename T>
Member borrowed(const Tensor<T>& tensor) {
  Member member;
  member.dtype = dtype_of<T>();
  member.dtype_name = std::string(name_of(member.dtype));
  member.shape = tensor.shape();
  member.fetch = [&tensor] { return Bytes::share(nullptr, std::as_bytes(tensor.values())); };
  return member;
}

// Names and tensors of a layer, as files order them; those that are empty are
// not there.
template <typename T>
std::vector<std::pair<std::string, const Tensor<T>*>> tensors_of(const Layer<T>& layer) {
  const AttentionWeights<T>& attention = layer.attention;
  std::vector<std::pair<std::string, const Tensor<T>*>> tensors = {
      {"W_Q", &attention.W_Q}, {"b_Q", &attention.b_Q}, {"W_K", &attention.W_K},
      {"b_K", &attention.b_K}, {"W_V", &attention.W_V}, {"b_V", &attention.b_V}};
  if (attention.latent) {
    const LatentWeights<T>& latent = *attention.latent;
    tensors.insert(tensors.end(), {{"W_DQ", &latent.W_DQ},
                                   {"q_latent_norm.weight", &latent.q_latent_norm},
                                   {"W_UQ", &latent.W_UQ},
                                   {"W_QR", &latent.W_QR},
                                   {"W_DKV", &latent.W_DKV},
                                   {"kv_latent_norm.weight", &latent.kv_latent_norm},
                                   {"W_UK", &latent.W_UK},
                                   {"W_UV", &latent.W_UV},
                                   {"W_KR", &latent.W_KR}});
  }
  const FeedForwardWeights<T>& ffn = layer.feed_forward;
  tensors.insert(tensors.end(), {{"bias_k", &attention.bias_k},
                                 {"bias_v", &attention.bias_v},
                                 {"relative_bias", &attention.relative_bias},
                                 {"W_O", &attention.W_O},
                                 {"b_O", &attention.b_O},
                                 {"norm1.weight", &layer.norm1.weight},
                                 {"norm1.bias", &layer.norm1.bias},
                                 {"W_1", &ffn.W_1},
                                 {"b_1", &ffn.b_1},
                                 {"W_G", &ffn.W_G},
                                 {"b_G", &ffn.b_G},
                                 {"W_2", &ffn.W_2},
                                 {"b_2", &ffn.b_2},
                                 {"norm2.weight", &layer.norm2.weight},
                                 {"norm2.bias", &layer.norm2.bias}});
  std::erase_if(tensors, [](const auto& tensor) { return tensor.second->empty(); });
  return tensors;
}

// A tensor that is read when it is fetched.
Member unread(const OpenedModel& model, const FoundTensor& found, bool allow_nonfinite) {
  Member member;
  const bool wide = std::ranges::any_of(found.pieces, [](const Member& piece) {
    return size_of(piece.dtype) > size_of(DType::f32) || piece.dtype == DType::u32 ||
           piece.dtype == DType::i32;
  });
  member.dtype = wide ? DType::f64 : DType::f32;
  member.dtype_name = std::string(name_of(member.dtype));
  member.shape = found.shape;
  member.fetch = [&model, &found, wide, allow_nonfinite] {
    const auto bytes = [](auto tensor) {
      const auto owner = std::make_shared<const decltype(tensor)>(std::move(tensor));
      return Bytes::share(owner, std::as_bytes(owner->values()));
    };
    return wide ? bytes(read_found<double>(model.file, found, allow_nonfinite))
                : bytes(read_found<float>(model.file, found, allow_nonfinite));
  };
  return member;
}

std::string prefix_of(std::size_t layer, bool stack) {
  return stack ? "layers." + std::to_string(layer) + "." : "";
}

}  // namespace

template <typename T>
Archive native_archive(const Encoder<T>& encoder) {
  Archive archive;
  std::vector<Settings> settings;
  const bool stack = encoder.layers.size() > 1 || !encoder.norm.weight.empty();
  for (const Layer<T>& layer : encoder.layers) {
    const std::string prefix = prefix_of(settings.size(), stack);
    const Parts has{!layer.norm1.weight.empty(), !layer.norm2.weight.empty(),
                    !encoder.norm.weight.empty(), !layer.attention.relative_bias.empty()};
    settings.push_back(settings_of(layer.settings, layer.sizes(), has));
    for (const auto& [name, tensor] : tensors_of(layer)) {
      Member member = with_heads(borrowed(*tensor), name, layer.attention.sizes);
      member.name = prefix + name;
      archive.members.push_back(std::move(member));
    }
  }
  for (const auto& [name, tensor] :
       {std::pair("norm.weight", &encoder.norm.weight), {"norm.bias", &encoder.norm.bias}}) {
    if (tensor->empty()) continue;
    archive.members.push_back(borrowed(*tensor));
    archive.members.back().name = name;
  }
  archive.settings = join(settings, stack);
  return archive;
}

template Archive native_archive(const Encoder<float>&);
template Archive native_archive(const Encoder<double>&);

Archive native_archive(const OpenedModel& model, const ModelOptions& options,
                       const Embeddings* embeddings) {
  Archive archive;
  archive.path = model.translated.archive.path;
  std::vector<Settings> settings;
  const bool stack = model.layers.size() > 1 || model.final_norm;
  for (const OpenedLayer& layer : model.layers) {
    const std::string prefix = prefix_of(settings.size(), stack);
    const Parts has{layer.tensors.contains("norm1.weight"),
                    layer.tensors.contains("norm2.weight"), model.final_norm,
                    layer.tensors.contains("relative_bias")};
    settings.push_back(settings_of(layer.settings, layer.sizes, has));
    for (const auto& [name, found] : layer.tensors) {
      Member member = with_heads(unread(model, found, options.allow_nonfinite), name,
                                 layer.sizes.attention);
      member.name = prefix + name;
      archive.members.push_back(std::move(member));
    }
  }
  const auto add = [&](const FoundTensors& tensors) {
    for (const auto& [name, found] : tensors) {
      archive.members.push_back(unread(model, found, options.allow_nonfinite));
      archive.members.back().name = name;
    }
  };
  if (model.final_norm) add(model.tensors);
  archive.settings = join(settings, stack);
  if (embeddings == nullptr) return archive;
  add(embeddings->tensors);
  for (const SettingInForce& setting : embeddings->in_force) {
    archive.settings[setting.name] = setting.value;
  }
  if (!embeddings->vocabulary.empty()) archive.lists["vocabulary"] = embeddings->vocabulary;
  return archive;
}

}  // namespace mha
