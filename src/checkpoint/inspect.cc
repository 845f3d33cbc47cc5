#include "checkpoint/inspect.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "checkpoint/embeddings.h"
#include "checkpoint/translate.h"
#include "files/names.h"

namespace mha {
namespace {

// "layers.3.W_Q" as "layers.3." and "W_Q".
std::pair<std::string_view, std::string_view> take_apart(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  if (!name.starts_with(kLayers)) return {"", name};
  const std::size_t dot = name.find('.', kLayers.size());
  if (dot == name.npos) return {"", name};
  return {name.substr(0, dot + 1), name.substr(dot + 1)};
}

// What the native tensors that one tensor of the file makes up are called.
std::string role_of(const std::vector<std::string_view>& names) {
  const auto [layer, tensor] = take_apart(names.front());
  const bool of_one_layer = std::ranges::all_of(
      names, [first = layer](auto name) { return take_apart(name).first == first; });
  if (!of_one_layer) {
    return std::string(tensor) + " of " + std::to_string(names.size()) + " layers";
  }
  std::string role(layer);
  for (const std::string_view name : names) {
    role += (name == names.front() ? "" : ", ") + std::string(take_apart(name).second);
  }
  return role;
}

void add_roles(Inspection& inspection, const Archive& native) {
  std::unordered_map<std::string_view, std::vector<std::string_view>> names;  // by origin
  for (const Member& member : native.members) {
    names[member.origin.empty() ? member.name : member.origin].push_back(member.name);
  }
  for (InspectedTensor& tensor : inspection.tensors) {
    const auto found = names.find(tensor.name);
    if (found != names.end()) tensor.role = role_of(found->second);
  }
}

// What is said where the model as a whole could not be opened: a setting once,
// by who has the say.
void add_said(Inspection& inspection, const Translated& translated) {
  std::unordered_set<std::string_view> seen;
  for (const auto* list : {&translated.file, &translated.config, &translated.defaults}) {
    for (const Said& said : *list) {
      if (!seen.insert(said.name).second) continue;
      inspection.settings.push_back({said.name, said.value, said.source});
    }
  }
}

void add_translated(Inspection& inspection, const Translated& translated) {
  inspection.scheme = translated.scheme;
  inspection.evidence = translated.evidence;
  add_roles(inspection, translated.archive);
}

// How text is read, where it can be; why not is said to who asks for it.
void add_text(Inspection& inspection, OpenedModel& model, const ModelOptions& options) {
  if (!without_embeddings(model).empty()) return;
  try {
    const Embeddings embeddings = open_embeddings(model, options, "");
    if (!embeddings.vocabulary.empty()) {
      inspection.settings.push_back({"vocabulary",
                                     std::to_string(embeddings.vocabulary.size()),
                                     embeddings.vocabulary_source});
    }
    for (const SettingInForce& setting : embeddings.in_force) {
      if (!setting.value.empty()) inspection.settings.push_back(setting);
    }
  } catch (const Error& error) {
    if (error.fault() == Fault::system) throw;
  }
}

void add_model(Inspection& inspection, const Archive& archive, const ModelOptions& options) {
  try {
    OpenedModel model = open_model(archive, options);
    add_translated(inspection, model.translated);
    inspection.settings = model.in_force;
    inspection.n_layers = model.n_layers;
    inspection.final_norm = model.final_norm;
    add_text(inspection, model, options);
  } catch (const Error&) {
    const Translated translated = translate(archive, translate_options(options));
    add_translated(inspection, translated);
    add_said(inspection, translated);
    throw;
  }
}

}  // namespace

Inspection inspect(const Archive& archive, const ModelOptions& options) {
  Inspection inspection;
  inspection.path = archive.path;
  inspection.container = archive.container;
  inspection.skipped = archive.skipped;
  for (const Member& member : archive.members) {
    inspection.tensors.push_back({member.name, member.dtype_name, member.shape, ""});
    const std::size_t count = element_count(member.shape, member.name);
    inspection.parameters += count;
    inspection.bytes += count * size_of(member.dtype);
  }
  try {
    add_model(inspection, archive, options);
  } catch (const Error& error) {
    if (error.fault() == Fault::system) throw;
    inspection.problem = error.what();
  }
  return inspection;
}

}  // namespace mha
