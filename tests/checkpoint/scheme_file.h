#pragma once

// Weights files of any naming scheme, in memory.

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/translate.h"
#include "files/archive.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

namespace mha {

// The tensors of a file in the order of a table: name and shape.
using Names = std::vector<std::pair<std::string, Shape>>;

inline Names operator+(Names names, const Names& others) {
  names.insert(names.end(), others.begin(), others.end());
  return names;
}
inline Names with_prefix(const std::string& prefix, Names names) {
  for (auto& [name, shape] : names) name = prefix + name;
  return names;
}
// Without one that must be there.
inline Names without(const Names& names, const std::string& name) {
  Names left;
  for (const auto& one : names) {
    if (one.first != name) left.push_back(one);
  }
  return left.size() == names.size() ? Names{{"no tensor " + name, {1}}} : left;
}
// The same tensors, `layers` times under BEFORE number AFTER.
inline Names stacked(const std::string& before, std::size_t layers, const Names& names,
                     const std::string& after = ".") {
  Names all;
  for (std::size_t i = 0; i < layers; ++i) {
    all = all + with_prefix(before + std::to_string(i) + after, names);
  }
  return all;
}

// Each tensor's elements count from 0.
inline Archive file_of(const Names& names, const std::string& path = "w.safetensors") {
  Archive archive;
  archive.path = path;
  archive.container = "safetensors";
  for (const auto& [name, shape] : names) {
    Member member;
    member.name = name;
    member.dtype = DType::f32;
    member.dtype_name = "F32";
    member.shape = shape;
    std::vector<float> values(element_count(shape));
    std::iota(values.begin(), values.end(), 0.0F);
    std::string bytes(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    member.fetch = [data = Bytes::own(bytes)] { return data; };
    archive.members.push_back(std::move(member));
  }
  return archive;
}

// A config.json in a folder of its own that holds this text.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) { folder_.write("config.json", text); }
  std::string path() const { return folder_ / "config.json"; }

 private:
  TempFolder folder_;
};

// What translate() makes of the names with this config ("": none).
inline Translated translated(const Names& names, const std::string& config = "",
                             TranslateOptions options = {}) {
  if (config.empty()) return translate(file_of(names), options);
  const ConfigFile file(config);
  options.config = file.path();
  return translate(file_of(names), options);
}

// The Error of that, with the config's folder cut off.
inline std::string translate_error(const Names& names, const std::string& config = "",
                                   const TranslateOptions& options = {}) {
  std::string text = error_of([&] { translated(names, config, options); });
  const std::size_t name = text.rfind("/config.json");
  if (name == text.npos) return text;
  const std::size_t begin = text.rfind(' ', name);
  return text.erase(begin == text.npos ? 0 : begin + 1,
                    name - (begin == text.npos ? 0 : begin + 1) + 1);
}

// Name -> value, the first to say it.
inline std::map<std::string, std::string> by_name(const std::vector<Said>& said) {
  std::map<std::string, std::string> values;
  for (const Said& one : said) values.emplace(one.name, one.value);
  return values;
}

// Native name -> shape.
inline std::map<std::string, Shape> shapes_of(const Translated& result) {
  std::map<std::string, Shape> shapes;
  for (const Member& member : result.archive.members) shapes[member.name] = member.shape;
  return shapes;
}

// The elements of a native tensor, row-major.
inline std::vector<double> values_of(const Translated& result, const std::string& name) {
  const Tensor<double> tensor = read_tensor<double>(result.archive, result.archive.at(name));
  return {tensor.values().begin(), tensor.values().end()};
}

// Files of d_model 4 and d_ff 6.

inline Names article() {
  Names names;
  for (const std::string name : {"W_q", "W_k", "W_v", "W_o"}) {
    names = names + Names{{name + ".weight", {4, 4}}, {name + ".bias", {4}}};
  }
  return names;
}

inline Names bert_layer() {
  Names names;
  for (const std::string name : {"attention.self.query", "attention.self.key",
                                 "attention.self.value", "attention.output.dense"}) {
    names = names + Names{{name + ".weight", {4, 4}}, {name + ".bias", {4}}};
  }
  return names + Names{{"attention.output.LayerNorm.weight", {4}},
                       {"attention.output.LayerNorm.bias", {4}},
                       {"intermediate.dense.weight", {6, 4}},
                       {"intermediate.dense.bias", {6}},
                       {"output.dense.weight", {4, 6}},
                       {"output.dense.bias", {4}},
                       {"output.LayerNorm.weight", {4}},
                       {"output.LayerNorm.bias", {4}}};
}

inline Names torch_layer() {
  return {{"self_attn.in_proj_weight", {12, 4}},
          {"self_attn.in_proj_bias", {12}},
          {"self_attn.out_proj.weight", {4, 4}},
          {"self_attn.out_proj.bias", {4}},
          {"linear1.weight", {6, 4}},
          {"linear1.bias", {6}},
          {"linear2.weight", {4, 6}},
          {"linear2.bias", {4}},
          {"norm1.weight", {4}},
          {"norm1.bias", {4}},
          {"norm2.weight", {4}},
          {"norm2.bias", {4}}};
}

inline Names llama_layer() {
  return {{"self_attn.q_proj.weight", {4, 4}}, {"self_attn.k_proj.weight", {2, 4}},
          {"self_attn.v_proj.weight", {2, 4}}, {"self_attn.o_proj.weight", {4, 4}},
          {"input_layernorm.weight", {4}},     {"post_attention_layernorm.weight", {4}},
          {"mlp.gate_proj.weight", {6, 4}},    {"mlp.up_proj.weight", {6, 4}},
          {"mlp.down_proj.weight", {4, 6}}};
}

inline Names gpt2_layer() {
  return {{"attn.c_attn.weight", {4, 12}},
          {"attn.c_attn.bias", {12}},
          {"attn.c_proj.weight", {4, 4}},
          {"attn.c_proj.bias", {4}},
          {"ln_1.weight", {4}},
          {"ln_1.bias", {4}},
          {"ln_2.weight", {4}},
          {"ln_2.bias", {4}},
          {"mlp.c_fc.weight", {4, 6}},
          {"mlp.c_fc.bias", {6}},
          {"mlp.c_proj.weight", {6, 4}},
          {"mlp.c_proj.bias", {4}}};
}

}  // namespace mha
