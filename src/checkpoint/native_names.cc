#include "checkpoint/native_names.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

const std::vector<std::string> kOfHead = {"W_Q",  "W_K",  "W_V",    "W_O",    "b_Q",
                                          "b_K",  "b_V",  "bias_k", "bias_v", "W_UQ",
                                          "W_QR", "W_UK", "W_UV"};
const std::vector<std::string> kOfKvHead = {"W_K", "W_V", "b_K", "b_V", "bias_k", "bias_v"};
const std::vector<std::string> kOfStack = {"norm.weight", "norm.bias", "relative_bias"};

// "layers.2.heads[3].W_Q" taken apart.
struct NativeName {
  std::optional<std::size_t> layer;
  std::string_view prefix;  // "layers.2."
  std::string_view group;   // "heads", "kv_heads" or ""
  std::size_t head = 0;
  std::string_view tensor;
};

// A number as we write it: 0 or without a leading 0, so that heads[00] is no
// second spelling.
std::optional<std::size_t> parse_index(std::string_view digits) {
  std::size_t index = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, index);
  const bool plain = digits == "0" || !digits.starts_with('0');
  if (result.ec != std::errc() || result.ptr != end || !plain) return std::nullopt;
  return index;
}

// Takes `open` INDEX `close` off the front of `name`, or nothing.
std::optional<std::size_t> take_index(std::string_view& name, std::string_view open,
                                      std::string_view close) {
  if (!name.starts_with(open)) return std::nullopt;
  const std::size_t end = name.find(close, open.size());
  if (end == name.npos) return std::nullopt;
  const auto index = parse_index(name.substr(open.size(), end - open.size()));
  if (index) name.remove_prefix(end + close.size());
  return index;
}

NativeName parse(std::string_view name) {
  NativeName parsed;
  std::string_view rest = name;
  parsed.layer = take_index(rest, "layers.", ".");
  if (!parsed.layer) parsed.layer = take_index(rest, "layers[", "].");
  parsed.prefix = name.substr(0, name.size() - rest.size());
  for (const std::string_view group : {"heads", "kv_heads"}) {
    const auto head = take_index(rest, std::string(group) + "[", "].");
    if (!head) continue;
    parsed.group = group;
    parsed.head = *head;
    break;
  }
  parsed.tensor = rest;
  return parsed;
}

const std::vector<std::string>& known_in(std::string_view group) {
  return group.empty() ? native_tensor_names() : group == "heads" ? kOfHead : kOfKvHead;
}

// The nearest known name in the same place: heads[1].W_q -> heads[1].W_Q.
std::string nearest_known(std::string_view name, const NativeName& parsed) {
  const std::string prefix(parsed.prefix);
  if (!parsed.layer && is_one_of(parsed.tensor, kOfStack)) return std::string(parsed.tensor);
  // Known, but not as a head's: b_O.
  if (is_one_of(parsed.tensor, native_tensor_names())) {
    return prefix + std::string(parsed.tensor);
  }
  if (parsed.tensor.starts_with("embeddings.")) {
    return nearest(parsed.tensor, native_embeddings());
  }
  const std::string tensor = nearest(parsed.tensor, known_in(parsed.group));
  if (tensor.empty()) return "";
  return std::string(name.substr(0, name.size() - parsed.tensor.size())) + tensor;
}

void require_known(const Archive& archive, const Member& member, const NativeName& parsed) {
  if (is_one_of(parsed.tensor, known_in(parsed.group))) return;
  const bool lone = !parsed.layer && parsed.group.empty();
  if (lone && is_one_of(parsed.tensor, kOfStack)) return;
  if (lone && is_one_of(parsed.tensor, native_embeddings())) return;
  const std::vector<std::string>& known = native_tensor_names();
  if (member.name.empty()) {
    throw Error(archive.path + ": one tensor without a name, expected weights called " +
                list_of(known));
  }
  const std::string near = nearest_known(member.name, parsed);
  throw Error(archive.path + ": the tensor " + printable(member.name) + " is unknown; " +
              (near.empty() ? "known are " + list_of(known) : "did you mean " + near + "?"));
}

using ByHead = std::map<std::size_t, const Member*>;

// The members of one tensor, in all forms that are there.
struct Forms {
  std::vector<const Member*> whole;  // two: under both spellings of its layer
  std::map<std::string, ByHead, std::less<>> groups;
};

struct Gathered {
  std::string prefix;
  std::map<std::string, Forms> tensors;
  std::map<std::string, std::size_t, std::less<>>
      last_head;  // of a group, whatever its tensors
};

[[noreturn]] void refuse_twice(const Archive& archive, const std::string& name,
                               const std::string& one, const std::string& other) {
  throw Error(archive.path + ": " + name + " is there twice, as " + one + " and as " + other);
}

void add(const Archive& archive, Gathered& layer, const NativeName& name,
         const Member& member) {
  if (layer.prefix.empty()) layer.prefix = name.prefix;
  Forms& forms = layer.tensors[std::string(name.tensor)];
  if (name.group.empty()) {
    forms.whole.push_back(&member);
    return;
  }
  const std::string group(name.group);
  const auto [place, is_new] = forms.groups[group].emplace(name.head, &member);
  if (!is_new) {
    refuse_twice(archive, layer.prefix + std::string(name.tensor), place->second->name,
                 member.name);
  }
  std::size_t& last = layer.last_head[group];
  last = std::max(last, name.head);
}

Parts parts_of(const Archive& archive, const Gathered& layer, const std::string& tensor,
               const Forms& forms) {
  Parts parts{layer.prefix + tensor, forms.whole, false};
  std::vector<std::string> found;  // the forms
  for (const Member* whole : forms.whole) found.push_back(whole->name);
  for (const auto& [group, heads] : forms.groups) {
    found.push_back(layer.prefix + group + "[0]." + tensor);
    parts.per_head = true;
    for (const auto& [head, member] : heads) {
      if (head != parts.members.size() - forms.whole.size()) break;
      parts.members.push_back(member);
    }
  }
  if (found.size() > 1) refuse_twice(archive, parts.name, found[0], found[1]);
  if (parts.per_head &&
      parts.members.size() <= layer.last_head.at(forms.groups.begin()->first)) {
    throw Error(archive.path + ": " + layer.prefix + forms.groups.begin()->first + "[" +
                std::to_string(parts.members.size()) + "]." + tensor + " is missing");
  }
  return parts;
}

LayerParts finish(const Archive& archive, const Gathered& gathered) {
  LayerParts layer{gathered.prefix, {}};
  for (const auto* names : {&native_tensor_names(), &kOfStack}) {
    for (const std::string& tensor : *names) {
      const auto forms = gathered.tensors.find(tensor);
      if (forms == gathered.tensors.end()) continue;
      layer.tensors.emplace(tensor, parts_of(archive, gathered, tensor, forms->second));
    }
  }
  return layer;
}

// Names without layers.K. are a lone layer's, or stand around a stack.
void require_one_kind(const Archive& archive, const Gathered& without,
                      const std::map<std::size_t, Gathered>& layers) {
  for (const auto& [tensor, forms] : without.tensors) {
    const std::string name = forms.whole.empty()
                                 ? forms.groups.begin()->second.begin()->second->name
                                 : forms.whole[0]->name;
    if (layers.empty() && tensor.starts_with("norm.")) {
      throw Error(archive.path + ": " + name +
                  " is the last norm of a stack, but no tensor's name begins with layers.0.");
    }
    if (!layers.empty() && !is_one_of(tensor, kOfStack)) {
      throw Error(archive.path + ": " + name + " is of a lone layer, but there are layers." +
                  std::to_string(layers.begin()->first) +
                  ". too; expected names of one layer, or all under layers.K.");
    }
  }
}

}  // namespace

const std::vector<std::string>& native_tensor_names() {
  static const std::vector<std::string> names = {"W_Q",
                                                 "W_K",
                                                 "W_V",
                                                 "W_O",
                                                 "b_Q",
                                                 "b_K",
                                                 "b_V",
                                                 "b_O",
                                                 "norm1.weight",
                                                 "norm1.bias",
                                                 "W_1",
                                                 "b_1",
                                                 "W_2",
                                                 "b_2",
                                                 "norm2.weight",
                                                 "norm2.bias",
                                                 "W_G",
                                                 "b_G",
                                                 "bias_k",
                                                 "bias_v",
                                                 "relative_bias",
                                                 "W_DQ",
                                                 "W_UQ",
                                                 "W_QR",
                                                 "W_DKV",
                                                 "W_UK",
                                                 "W_UV",
                                                 "W_KR",
                                                 "q_latent_norm.weight",
                                                 "kv_latent_norm.weight"};
  return names;
}

const std::vector<std::string>& native_embeddings() {
  static const std::vector<std::string> names = {
      "embeddings.words", "embeddings.positions", "embeddings.token_types",
      "embeddings.norm.weight", "embeddings.norm.bias"};
  return names;
}

const Parts* LayerParts::find(const std::string& name) const {
  const auto place = tensors.find(name);
  return place == tensors.end() ? nullptr : &place->second;
}

NativeParts find_native(const Archive& archive) {
  for (const auto& [name, strings] : archive.lists) {
    // The metadata of safetensors may hold what is of other programs.
    if (name == "vocabulary" || archive.container == "safetensors") continue;
    throw Error(archive.path + ": the list of strings " + printable(name) +
                " is unknown among weights");
  }
  std::map<std::size_t, Gathered> layers;
  Gathered without;
  for (const Member& member : archive.members) {
    const NativeName name = parse(member.name);
    require_known(archive, member, name);
    if (is_one_of(member.name, native_embeddings())) continue;
    add(archive, name.layer ? layers[*name.layer] : without, name, member);
  }
  require_one_kind(archive, without, layers);
  NativeParts native;
  native.stack = !layers.empty();
  if (!native.stack) {
    native.layers.push_back(finish(archive, without));
    return native;
  }
  native.around = finish(archive, without);
  for (const auto& [index, layer] : layers) {
    if (index != native.layers.size()) {
      throw Error(
          archive.path + ": layers." + std::to_string(native.layers.size()) +
          ". is missing: layers are counted from 0 without gaps, and there is layers." +
          std::to_string(index) + ".");
    }
    native.layers.push_back(finish(archive, layer));
  }
  return native;
}

}  // namespace mha
