#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/load.h"
#include "files/json.h"
#include "support/error_of.h"

// Small native models as JSON text, and what loading makes of them.
namespace mha::native {

using Numbers = std::vector<double>;

// JSON of an object from "name" -> its value.
using Fields = std::map<std::string, std::string>;
inline std::string object(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + value;
  }
  return text + "}";
}
inline Fields with(Fields fields, const Fields& others) {
  for (const auto& [name, value] : others) fields[name] = value;
  return fields;
}
inline Fields without(Fields fields, const std::string& name) {
  fields.erase(name);
  return fields;
}

// A JSON list of that shape that counts up from `next`.
inline std::string counted(const Shape& shape, double& next, std::size_t axis = 0) {
  if (axis == shape.size()) return std::to_string(next++);
  std::string text;
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    text += (i == 0 ? "" : ", ") + counted(shape, next, axis + 1);
  }
  return "[" + text + "]";
}
inline std::string counted(const Shape& shape) {
  double next = 0;
  return counted(shape, next);
}

// d_model 4, 2 heads of 2.
inline Fields stacked() {
  return {{"W_Q", counted({2, 4, 2})},
          {"W_K", counted({2, 4, 2})},
          {"W_V", counted({2, 4, 2})},
          {"W_O", counted({2, 2, 4})}};
}
inline Fields side_by_side() {
  return {{"W_Q", counted({4, 4})},
          {"W_K", counted({4, 4})},
          {"W_V", counted({4, 4})},
          {"W_O", counted({4, 4})}};
}
inline std::string head() {
  return object({{"W_Q", counted({4, 2})},
                 {"W_K", counted({4, 2})},
                 {"W_V", counted({4, 2})},
                 {"W_O", counted({2, 4})}});
}

// stacked() in a whole layer, d_ff 3.
inline Fields whole_layer() {
  return with(stacked(), {{"norm1.weight", counted({4})},
                          {"norm1.bias", counted({4})},
                          {"norm2.weight", counted({4})},
                          {"norm2.bias", counted({4})},
                          {"W_1", counted({4, 3})},
                          {"b_1", counted({3})},
                          {"W_2", counted({3, 4})},
                          {"b_2", counted({4})}});
}

// The fields of layer `index` of a stack.
inline Fields in_stack(const Fields& layer, std::size_t index) {
  Fields fields;
  for (const auto& [name, value] : layer) {
    fields["layers." + std::to_string(index) + "." + name] = value;
  }
  return fields;
}
inline Fields stack_of(const Fields& layer, std::size_t n_layers) {
  Fields fields;
  for (std::size_t i = 0; i < n_layers; ++i) fields = with(fields, in_stack(layer, i));
  return fields;
}

inline Archive archive_of(const Fields& fields) {
  return open_json(Bytes::own(object(fields)), "w.json");
}

struct Loaded {
  OpenedModel opened;
  Encoder<double> encoder;
  const Layer<double>& layer() const { return encoder.layers.at(0); }
  const AttentionWeights<double>& weights() const { return layer().attention; }
  const AttentionSettings& settings() const { return layer().settings.attention; }
};
inline Loaded load(const Archive& archive, const ModelOptions& options = {}) {
  Loaded loaded;
  loaded.opened = open_model(archive, options);
  loaded.encoder = read_model<double>(loaded.opened, options);
  return loaded;
}
inline Loaded load(const Fields& fields, const ModelOptions& options = {}) {
  return load(archive_of(fields), options);
}
inline std::string refusal(const Fields& fields, const ModelOptions& options = {}) {
  return error_of([&] { load(fields, options); });
}

inline ModelOptions heads(std::size_t n_heads) {
  ModelOptions options;
  options.n_heads = n_heads;
  return options;
}
inline ModelOptions kv_heads(std::size_t n_kv_heads) {
  ModelOptions options;
  options.n_kv_heads = n_kv_heads;
  return options;
}
inline ModelOptions part(Part part) {
  ModelOptions options;
  options.part = part;
  return options;
}
inline ModelOptions layers(std::size_t first, std::size_t last) {
  ModelOptions options;
  options.layers = LayerRange{first, last};
  return options;
}

inline Numbers numbers(const Tensor<double>& tensor) {
  return {tensor.values().begin(), tensor.values().end()};
}

// "2 (--n-heads)"
inline std::string in_force(const Loaded& loaded, const std::string& name) {
  for (const SettingInForce& setting : loaded.opened.in_force) {
    if (setting.name == name) return setting.value + " (" + setting.source + ")";
  }
  return "not listed";
}

}  // namespace mha::native
