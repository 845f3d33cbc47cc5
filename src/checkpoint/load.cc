#include "checkpoint/load.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/layer_settings.h"
#include "checkpoint/native_layer.h"
#include "checkpoint/native_names.h"
#include "layer/latent.h"

namespace mha {
namespace {

[[noreturn]] void fail(const Archive& archive, const std::string& what) {
  throw Error(archive.path + ": " + what);
}

// The first layer's sizes are every layer's, as far as what flows through them
// and what is shown of them have one shape.
void require_alike(const Archive& archive, const FoundLayer& first, const FoundLayer& layer) {
  const auto require = [&](const char* what, std::size_t expected, std::size_t found) {
    if (found == expected) return;
    const auto telling = [](const FoundLayer& one) {
      return one.prefix + (one.sizes.attention.kv_rank > 0 ? "W_DKV" : "W_Q");
    };
    fail(archive, telling(layer) + ": " + what + " is " + std::to_string(found) +
                      ", expected " + std::to_string(expected) + " as in " + telling(first));
  };
  const AttentionSizes& expected = first.sizes.attention;
  const AttentionSizes& found = layer.sizes.attention;
  require("d_model", expected.d_model, found.d_model);
  require("n_heads", expected.n_heads, found.n_heads);
  if (found.bias_key != expected.bias_key) {
    const FoundLayer& with = found.bias_key ? layer : first;
    const FoundLayer& without = found.bias_key ? first : layer;
    fail(archive, without.prefix + "bias_k is missing, but " + with.prefix +
                      "bias_k is there; the maps of all layers have one shape");
  }
}

// A relative bias around the stack or of its first layer is every layer's.
void share_relative_bias(std::vector<FoundLayer>& layers, const FoundTensors& around) {
  const std::string name = "relative_bias";
  const FoundTensors& first = layers[0].tensors;
  const FoundTensors& source = around.contains(name) ? around : first;
  if (!source.contains(name)) return;
  const FoundTensor bias = source.at(name);
  for (FoundLayer& layer : layers) layer.tensors.try_emplace(name, bias);
}

std::vector<FoundLayer> find_layers(const Archive& archive, const NativeParts& native,
                                    const SaidSettings& said) {
  std::vector<FoundLayer> layers;
  for (const LayerParts& parts : native.layers) {
    FoundLayer layer;
    layer.index = layers.size();
    layer.prefix = parts.prefix;
    layer.n_heads = said_heads(said, layer.index, "n_heads");
    layer.n_kv_heads = said_heads(said, layer.index, "n_kv_heads");
    ShapeCheck check(archive, parts);
    layer.sizes = find_layer(check, layer.n_heads, layer.n_kv_heads);
    layer.tensors = check.taken();
    if (!layers.empty()) require_alike(archive, layers[0], layer);
    layers.push_back(std::move(layer));
  }
  return layers;
}

// What stands around the layers of a stack.
FoundTensors find_around(const Archive& archive, const LayerParts& parts,
                         const FoundLayer& first) {
  ShapeCheck check(archive, parts);
  const std::size_t d_model = first.sizes.attention.d_model;
  find_norm(check, "norm", d_model, "d_model " + std::to_string(d_model));
  find_relative_bias(check, first.n_heads);
  return check.taken();
}

// The file may hold more layers than can run: `not_done` says why.
LayerRange chosen_layers(const Archive& archive, const ModelOptions& options,
                         std::size_t n_layers, const std::string& not_done) {
  const LayerRange range = options.layers.value_or(LayerRange{0, n_layers - 1});
  const bool beyond = !options.layers || std::max(range.first, range.last) >= n_layers;
  if (beyond && !not_done.empty()) {
    throw Error(not_done + "; layers 0 to " + std::to_string(n_layers - 1) +
                " can run, by --layer");
  }
  for (const std::size_t layer : {range.first, range.last}) {
    if (layer >= n_layers) fail(archive, layer_not_there(layer, n_layers));
  }
  if (range.first > range.last) {
    fail(archive, "layers " + std::to_string(range.first) + "-" + std::to_string(range.last) +
                      ": expected the first one first");
  }
  return range;
}

// How far each of these layers runs: all but the last one whole.
std::vector<Part> parts_of(const Archive& archive, const ModelOptions& options,
                           const std::vector<FoundLayer>& layers) {
  const bool any = std::any_of(layers.begin(), layers.end(),
                               [](const FoundLayer& layer) { return layer.sizes.d_ff > 0; });
  std::vector<Part> parts(layers.size(), Part::layer);
  if (any || layers.size() == 1) {
    parts.back() = options.part.value_or(any ? Part::layer : Part::attention);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (parts[i] != Part::layer) continue;
    const FoundLayer& layer = layers[i];
    if (layer.sizes.d_ff == 0) {
      fail(archive, layer.prefix + "W_1 is missing, expected a feed-forward, W_1 and W_2" +
                        (layers.size() == 1
                             ? ", for --part layer"
                             : ": layers that run one after another run whole, --layer K " +
                                   std::string("runs the attention of one")));
    }
    const AttentionSizes& sizes = layer.sizes.attention;
    for (const auto& [name, size] :
         {std::pair("W_K: d_key", sizes.d_key), {"W_V: d_value", sizes.d_value}}) {
      if (size == sizes.d_model) continue;
      fail(archive, layer.prefix + name + " is " + std::to_string(size) +
                        ", expected d_model " + std::to_string(sizes.d_model) +
                        ": a whole layer attends to its own x");
    }
  }
  return parts;
}

// A config that counts other layers than the file holds is another model's,
// unless somebody says which of them run.
void require_layer_count(const SaidSettings& said, const ModelOptions& options, bool stack,
                         std::size_t n_layers) {
  for (const Voice voice : {Voice::file, Voice::config}) {
    const Said* count = said.find(voice, 0, "n_layers");
    const bool binds = voice == Voice::file || (stack && !options.layers);
    if (count == nullptr || !binds || read_count(*count) == n_layers) continue;
    throw Error(subject(*count) + " is " + std::to_string(read_count(*count)) +
                ", but the weights hold " + std::to_string(n_layers) +
                (n_layers == 1 ? " layer" : " layers") +
                (voice == Voice::config ? "; --layer A-B says which to run" : ""));
  }
}

}  // namespace

OpenedModel open_model(const Archive& archive, const ModelOptions& options) {
  OpenedModel model;
  model.file = archive;
  model.translated = translate(archive, translate_options(options));
  const Archive& names = model.translated.archive;
  const NativeParts native = find_native(names);
  model.n_layers = native.layers.size();
  const SaidSettings said(options, model.translated, model.n_layers);
  require_layer_count(said, options, native.stack, model.n_layers);

  std::vector<FoundLayer> layers = find_layers(archive, native, said);
  model.tensors = find_around(archive, native.around, layers[0]);
  share_relative_bias(layers, model.tensors);
  const LayerRange range =
      chosen_layers(archive, options, model.n_layers, model.translated.not_done);
  layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(range.last) + 1, layers.end());
  layers.erase(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(range.first));

  const std::vector<Part> parts = parts_of(archive, options, layers);
  std::vector<std::vector<SettingInForce>> in_force(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    FoundLayer& layer = layers[i];
    LayerSettings settings = resolve(archive, said, layer, parts[i], in_force[i]);
    settings.attention.allow_nonfinite = options.allow_nonfinite;
    model.layers.push_back({layer.index, layer.sizes, settings, layer.tensors});
    if (layer.sizes.attention.zero_key != layers[0].sizes.attention.zero_key) {
      fail(archive, "add_zero_attn is not the same for " + layers[0].prefix + " and " +
                        layer.prefix + "; the maps of all layers have one shape");
    }
  }
  model.in_force = merge(layers, in_force);
  for (const HeadCount* count : {&layers[0].n_heads, &layers[0].n_kv_heads}) {
    if (!overruled(*count)) continue;
    model.overruled.push_back({count->name, std::to_string(*count->said), count->source});
  }
  model.final_norm =
      !options.layers && parts.back() == Part::layer && model.tensors.contains("norm.weight");
  return model;
}

template <typename T>
Encoder<T> read_model(const OpenedModel& model, const ModelOptions& options) {
  Encoder<T> encoder;
  const auto read = [&](const FoundTensors& tensors, const std::string& name) {
    const auto place = tensors.find(name);
    if (place == tensors.end()) return Tensor<T>();
    return read_found<T>(model.file, place->second, options.allow_nonfinite);
  };
  for (const OpenedLayer& opened : model.layers) {
    Layer<T> layer;
    layer.index = opened.index;
    layer.settings = opened.settings;
    const auto of = [&](const char* name) { return read(opened.tensors, name); };
    AttentionWeights<T>& attention = layer.attention;
    attention.sizes = opened.sizes.attention;
    if (attention.sizes.kv_rank > 0) {
      attention.latent =
          LatentWeights<T>{of("W_DQ"),  of("q_latent_norm.weight"),  of("W_UQ"), of("W_QR"),
                           of("W_DKV"), of("kv_latent_norm.weight"), of("W_UK"), of("W_UV"),
                           of("W_KR")};
    }
    attention.W_Q = of("W_Q");
    attention.W_K = of("W_K");
    attention.W_V = of("W_V");
    attention.W_O = of("W_O");
    attention.b_Q = of("b_Q");
    attention.b_K = of("b_K");
    attention.b_V = of("b_V");
    attention.b_O = of("b_O");
    attention.bias_k = of("bias_k");
    attention.bias_v = of("bias_v");
    attention.relative_bias = of("relative_bias");
    if (opened.settings.part == Part::layer || opened.settings.norm == NormPlacement::pre) {
      layer.norm1 = {of("norm1.weight"), of("norm1.bias")};
    }
    if (opened.settings.part == Part::layer) {
      layer.norm2 = {of("norm2.weight"), of("norm2.bias")};
      layer.feed_forward = {of("W_1"), of("b_1"), of("W_G"), of("b_G"), of("W_2"), of("b_2")};
    }
    if (options.absorb && attention.latent) absorb(attention, layer.settings.attention);
    encoder.layers.push_back(std::move(layer));
  }
  if (model.final_norm) {
    encoder.norm = {read(model.tensors, "norm.weight"), read(model.tensors, "norm.bias")};
  }
  return encoder;
}

template Encoder<float> read_model(const OpenedModel&, const ModelOptions&);
template Encoder<double> read_model(const OpenedModel&, const ModelOptions&);

}  // namespace mha
