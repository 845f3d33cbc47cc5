#include "checkpoint/layer_checks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "checkpoint/schemes.h"
#include "files/names.h"

namespace mha {
namespace {

// A buffer that counts positions, wherever it stands.
constexpr std::string_view kPositions = "position_ids";

}  // namespace

std::string undone(std::string_view name) {
  for (const Refusal& refusal : common_refusals()) {
    if (has_components(name, refusal.name)) return refusal.why;
  }
  return "";
}

void LayerChecks::fail(const std::string& what) const { throw Error(path_ + ": " + what); }

std::string LayerChecks::spelt(const LayerNames& layer, const std::string& name) const {
  return printable(names_.spelt(layer.prefix + name));
}

void LayerChecks::require_known(const LayerNames& layer) const {
  std::set<std::string_view> known(tower_.scheme->aside.begin(), tower_.scheme->aside.end());
  for (const TensorRule& rule : tower_.scheme->tensors) {
    known.insert(rule.names.begin(), rule.names.end());
  }
  // What stands for something not done says more than what is merely unknown.
  for (const auto& [name, member] : layer.tensors) {
    if (!known.contains(name)) refuse_undone(name, *member);
  }
  for (const Member* stray : layer.strays) {
    if (tower_.attention) refuse_undone(with_dots(stray->name), *stray);
  }
  for (const auto& [name, member] : layer.tensors) {
    if (known.contains(name) || has_components(name, kPositions)) continue;
    if (is_rotary_table(name, *member)) continue;
    // Beside bare attention without any prefix stands the rest of a model.
    const std::vector<std::string> list(known.begin(), known.end());
    const std::string near = nearest(name, list);
    const std::string_view first = std::string_view(name).substr(0, name.find('.'));
    const bool of_ours = std::any_of(known.begin(), known.end(), [&](std::string_view one) {
      return one.substr(0, one.find('.')) == first;
    });
    if (tower_.attention && layer.prefix.empty() && near.empty() && !of_ours) continue;
    fail(printable(member->name) + " is no tensor of scheme " + tower_.scheme->name +
         (near.empty() ? "" : ", did you mean " + spelt(layer, near) + "?"));
  }
  for (const Member* stray : layer.strays) {
    if (!tower_.attention) continue;
    if (is_rotary_table(with_dots(stray->name), *stray)) continue;
    fail(printable(stray->name) +
         " stands beside attention in its layer, and no scheme "
         "knows such a layer; for its attention alone give --prefix " +
         printable(names_.spelt_prefix(layer.prefix)));
  }
}

void LayerChecks::refuse_undone(std::string_view name, const Member& member) const {
  const std::string why = undone(name);
  if (!why.empty()) fail(printable(member.name) + ": " + why);
}

bool LayerChecks::is_rotary_table(std::string_view name, const Member& member) const {
  const bool is = std::any_of(rotary_tables().begin(), rotary_tables().end(),
                              [&](auto& table) { return has_components(name, table); });
  if (is && !rope_known_) {
    fail(printable(member.name) +
         ": a rotary table, and nothing says which channels it "
         "turns: give --rope halves or pairs");
  }
  return is;
}

const Member* LayerChecks::find(const LayerNames& layer,
                                const std::vector<std::string>& names) const {
  const Member* found = nullptr;
  for (const std::string& name : names) {
    const auto at = layer.tensors.find(name);
    if (at == layer.tensors.end()) continue;
    if (found != nullptr) {
      fail(printable(found->name) + " and " + printable(at->second->name) +
           " are one tensor of scheme " + tower_.scheme->name);
    }
    found = at->second;
  }
  return found;
}

void LayerChecks::require_orientation(const LayerNames& layer) const {
  std::optional<std::size_t> d_model;
  for (const TensorRule& rule : tower_.scheme->tensors) {
    const Member* member = find(layer, rule.names);
    const bool wide = rule.native == "b_O" || rule.native == "b_2" ||
                      rule.native == "norm1.weight" || rule.native == "norm2.weight";
    if (wide && member != nullptr && member->shape.size() == 1) d_model = member->shape[0];
  }
  if (!d_model) return;
  for (const TensorRule& rule : tower_.scheme->tensors) {
    const bool gives = rule.native == "W_O" || rule.native == "W_2";
    const bool reads = rule.native == "W_Q" || rule.native == "W_1" || rule.native == "W_G";
    const Member* member = gives || reads ? find(layer, rule.names) : nullptr;
    const bool turned = rule.form == Form::out_in;
    if (member == nullptr || member->shape.size() != 2) continue;
    if (!turned && rule.form != Form::in_out) continue;
    const std::size_t in = member->shape[turned ? 1 : 0];
    const std::size_t out = member->shape[turned ? 0 : 1];
    if ((gives ? out : in) == *d_model || (gives ? in : out) != *d_model) continue;
    fail(printable(member->name) + " is " + to_string(member->shape) + ", expected " +
         (turned ? "[out, in]" : "[in, out]") + " with d_model " + std::to_string(*d_model) +
         " as its " + (gives ? "out" : "in") + ": it fits only the other way round, " +
         (turned ? "[in, out]" : "[out, in]"));
  }
}

void LayerChecks::refuse_rotary_beside() const {
  for (const NameIndex::Entry& entry : names_.all()) {
    for (const std::string& table : rotary_tables()) {
      const std::size_t at = entry.name.find(table);
      if (at == entry.name.npos || !has_components(entry.name, table)) continue;
      if (tower_.before.starts_with(entry.name.substr(0, at))) {
        is_rotary_table(entry.name, *entry.member);
      }
    }
  }
}

}  // namespace mha
