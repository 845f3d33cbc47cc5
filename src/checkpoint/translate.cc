#include "checkpoint/translate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/error.h"
#include "checkpoint/config.h"
#include "checkpoint/recognise.h"
#include "checkpoint/schemes.h"
#include "checkpoint/views.h"
#include "files/member_view.h"
#include "files/names.h"

namespace mha {
namespace {

// A file of native names: nothing of it changes its name.
const Scheme& native_scheme() {
  static const Scheme scheme{.name = "native", .title = "native names"};
  return scheme;
}

// The settings that a file says by native names.
bool is_setting(std::string_view name) {
  static const std::vector<std::string> names = {"n_heads",      "n_kv_heads",
                                                 "d_model",      "d_head",
                                                 "d_ff",         "d_key",
                                                 "d_value",      "d_v",
                                                 "norm",         "norm_type",
                                                 "activation",   "gated",
                                                 "eps",          "scale",
                                                 "causal",       "softcap",
                                                 "rope",         "rope_theta",
                                                 "window",       "latent_eps",
                                                 "n_layers",     "relative_distance",
                                                 "add_zero_attn"};
  return is_one_of(name, names);
}

bool rope_said(const std::vector<Said>& said) {
  return std::any_of(said.begin(), said.end(), [](const Said& one) {
    return one.name == "rope" && one.value != "none";
  });
}

// Turns one tower into native names.
class Translator {
 public:
  Translator(const Archive& archive, const NameIndex& names, const Config* config,
             const TranslateOptions& options, Tower tower)
      : archive_(archive),
        names_(names),
        config_(config),
        options_(options),
        tower_(std::move(tower)),
        scheme_(*tower_.scheme) {}

  Translated translate() {
    result_.archive.path = archive_.path;
    result_.archive.container = archive_.container;
    result_.archive.lists = archive_.lists;
    result_.stack = tower_.stack;
    result_.scheme = scheme_.name;
    result_.evidence = tower_.evidence;
    require_no_gap();
    read_settings();
    for (const LayerNames& layer : tower_.layers) {
      require_known(layer);
      require_orientation(layer);
      add_rules(layer);
    }
    if (tower_.stack && !tower_.attention) add_last_norm();
    refuse_rotary_beside();
    require_activation();
    for (const Member& member : archive_.members) {
      if (!used_.contains(&member)) result_.unused.push_back(member.name);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(archive_.path + ": " + what);
  }
  // A tensor of a layer as the file would spell it.
  std::string spelt(const LayerNames& layer, const std::string& name) const {
    return printable(names_.spelt(layer.prefix + name));
  }

  void require_no_gap() const {
    for (std::size_t i = 1; i < tower_.layers.size(); ++i) {
      const std::size_t before = tower_.layers[i - 1].index;
      if (tower_.layers[i].index == before + 1) continue;
      fail("there are layers " + std::to_string(before) + " and " +
           std::to_string(tower_.layers[i].index) + ", but none of scheme " + scheme_.name +
           " between them");
    }
  }

  void read_settings() {
    std::vector<std::string> other;
    for (const auto& [name, value] : archive_.settings) {
      if (is_setting(name)) {
        result_.file.push_back({name, value, archive_.path});
        result_.archive.settings[name] = value;
      } else if (archive_.container != "safetensors") {
        other.push_back(name);  // a number that some other program keeps
      }
    }
    result_.unused = other;
    std::vector<std::size_t> layers;
    for (const LayerNames& layer : tower_.layers) layers.push_back(layer.index);
    rope_known_ = options_.rope || rope_said(result_.file);
    SchemeSettings settings = settings_of(config_, scheme_, layers, tower_.stack, rope_known_);
    rope_known_ = rope_known_ || rope_said(settings.config) || rope_said(settings.defaults);
    result_.config = std::move(settings.config);
    result_.defaults = std::move(settings.defaults);
  }

  // Nothing in a layer is passed over that may matter.
  void require_known(const LayerNames& layer) {
    std::set<std::string_view> known(scheme_.aside.begin(), scheme_.aside.end());
    for (const TensorRule& rule : scheme_.tensors) {
      known.insert(rule.names.begin(), rule.names.end());
    }
    for (const auto& [name, member] : layer.tensors) {
      if (known.contains(name)) continue;
      refuse_undone(name, *member);
      if (is_rotary_table(name, *member)) continue;
      // Beside bare attention without any prefix stands the rest of a model.
      const std::vector<std::string> list(known.begin(), known.end());
      const std::string near = nearest(name, list);
      const std::string_view first = std::string_view(name).substr(0, name.find('.'));
      const bool of_ours = std::any_of(known.begin(), known.end(), [&](std::string_view one) {
        return one.substr(0, one.find('.')) == first;
      });
      if (tower_.attention && layer.prefix.empty() && near.empty() && !of_ours) continue;
      fail(printable(member->name) + " is no tensor of scheme " + scheme_.name +
           (near.empty() ? "" : ", did you mean " + spelt(layer, near) + "?"));
    }
    for (const Member* stray : layer.strays) {
      if (!tower_.attention) continue;
      const std::string name = with_dots(stray->name);
      refuse_undone(name, *stray);
      if (is_rotary_table(name, *stray)) continue;
      fail(printable(stray->name) +
           " stands beside attention in its layer, and no scheme "
           "knows such a layer; for its attention alone give --prefix " +
           printable(names_.slashes() ? names_.spelt(layer.prefix) : layer.prefix));
    }
  }

  void refuse_undone(std::string_view name, const Member& member) const {
    for (const auto& list : {std::span<const Refusal>(scheme_.refusals), common_refusals()}) {
      for (const Refusal& refusal : list) {
        if (has_components(name, refusal.name)) {
          fail(printable(member.name) + ": " + refusal.why);
        }
      }
    }
  }

  bool is_rotary_table(std::string_view name, const Member& member) const {
    const bool is = std::any_of(rotary_tables().begin(), rotary_tables().end(),
                                [&](auto& table) { return has_components(name, table); });
    if (is && !rope_known_) {
      fail(printable(member.name) +
           ": a rotary table, and nothing says which channels it "
           "turns: give --rope halves or pairs");
    }
    return is;
  }

  // The member under one of the names; null where there is none.
  const Member* find(const LayerNames& layer, const std::vector<std::string>& names) const {
    const Member* found = nullptr;
    for (const std::string& name : names) {
      const auto at = layer.tensors.find(name);
      if (at == layer.tensors.end()) continue;
      if (found != nullptr) {
        fail(printable(found->name) + " and " + printable(at->second->name) +
             " are one tensor of scheme " + scheme_.name);
      }
      found = at->second;
    }
    return found;
  }

  std::string native_name(const LayerNames& layer, const std::string& native) const {
    return tower_.stack ? "layers." + std::to_string(layer.index) + "." + native : native;
  }

  void add(const std::string& native, const Member& member, Member view) {
    used_.insert(&member);
    result_.archive.members.push_back(renamed(std::move(view), native));
  }

  void add_rules(const LayerNames& layer) {
    std::vector<std::string> missing;
    std::map<std::string, std::string> groups;  // a group that is there -> by which tensor
    for (const TensorRule& rule : scheme_.tensors) {
      if (rule.need != Need::together) continue;
      if (const Member* member = find(layer, rule.names)) {
        groups.emplace(rule.group, member->name);
      }
    }
    const Lengths lengths = scheme_.lengths.empty() ? Lengths{} : measure(layer);
    for (const TensorRule& rule : scheme_.tensors) {
      const bool first = layer.index == tower_.layers[0].index;
      const LayerNames& holder = rule.need == Need::from_first ? tower_.layers[0] : layer;
      const Member* member = find(holder, rule.names);
      if (rule.need == Need::from_first && !first && find(layer, rule.names) != nullptr) {
        fail(printable(find(layer, rule.names)->name) + " is there, though layer " +
             std::to_string(holder.index) + " has it for all");
      }
      if (member != nullptr) {
        add(native_name(layer, rule.native), *member,
            view_of(archive_.path, *member, rule, lengths));
        continue;
      }
      const bool unit = rule.native.starts_with("norm") && norms_are_units();
      if (unit) {
        if (rule.native.ends_with(".weight")) add_ones(layer, rule.native);
        continue;
      }
      if (rule.need == Need::after_first && layer.index == 0) {
        if (rule.native.ends_with(".weight")) say_none(layer, rule.native);
        continue;
      }
      const bool needed = rule.need != Need::together || groups.contains(rule.group);
      const std::string name = spelt(holder, rule.names[0]);
      if (needed && !is_one_of(name, missing)) missing.push_back(name);
    }
    if (!missing.empty()) {
      fail(list_of(missing) + (missing.size() == 1 ? " is" : " are") + " missing (scheme " +
           scheme_.name + ")" + folded_hint(missing));
    }
  }

  // A norm that this layer of the family never has.
  void say_none(const LayerNames& layer, const std::string& weight) {
    result_.defaults.push_back({native_name(layer, weight.substr(0, weight.find('.'))), "none",
                                "scheme " + scheme_.name});
  }

  // The row says how matrices lie; shapes that only the other way would fit are
  // an error, not a hint. A width that a vector shows settles it.
  void require_orientation(const LayerNames& layer) const {
    std::optional<std::size_t> d_model;
    for (const TensorRule& rule : scheme_.tensors) {
      const Member* member = find(layer, rule.names);
      const bool wide = rule.native == "b_O" || rule.native == "b_2" ||
                        rule.native == "norm1.weight" || rule.native == "norm2.weight";
      if (wide && member != nullptr && member->shape.size() == 1) d_model = member->shape[0];
    }
    if (!d_model) return;
    for (const TensorRule& rule : scheme_.tensors) {
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

  bool norms_are_units() const {
    if (config_ == nullptr || scheme_.unit_norm.first.empty()) return false;
    const ConfigEntry* entry = config_->find(scheme_.unit_norm.first);
    return entry != nullptr && entry->value == scheme_.unit_norm.second;
  }
  // Norms whose weights were folded away still normalise; without a word on it
  // nobody can tell them from none.
  std::string folded_hint(const std::vector<std::string>& missing) const {
    if (scheme_.unit_norm.first.empty()) return "";
    const Member* norm = nullptr;
    for (const TensorRule& rule : scheme_.tensors) {
      if (!rule.native.starts_with("norm") || norm != nullptr) continue;
      norm = find(tower_.layers[0], rule.names);
    }
    if (norm != nullptr || missing.empty()) return "";
    return ": where norms are folded into what reads them, a config must say " +
           scheme_.unit_norm.first + " " + scheme_.unit_norm.second;
  }
  void add_ones(const LayerNames& layer, const std::string& native) {
    const Member& bias = *find(layer, rule_of("b_O").names);
    result_.archive.members.push_back(
        ones(native_name(layer, native), element_count(bias.shape, bias.name)));
  }
  const TensorRule& rule_of(const std::string& native) const {
    return *std::find_if(scheme_.tensors.begin(), scheme_.tensors.end(),
                         [&](const TensorRule& rule) { return rule.native == native; });
  }

  // The lengths that fused tensors are cut at.
  Lengths measure(const LayerNames& layer) const {
    Lengths lengths;
    const SaidCount heads = head_count();
    lengths.n_heads = heads.value;
    for (const Length& length : scheme_.lengths) {
      const Member* member = find(layer, length.names);
      if (member == nullptr) fail(spelt(layer, length.names[0]) + " is missing");
      if (member->shape.empty()) fail(printable(member->name) + " is a single number");
      std::size_t size = member->shape[0];
      if (length.per_head) {
        if (size % heads.value != 0) {
          fail(printable(member->name) + " is " + to_string(member->shape) + ": its " +
               std::to_string(size) + " rows do not split into " +
               std::to_string(heads.value) + " heads (" + heads.source + ")");
        }
        size /= heads.value;
      }
      const std::size_t less = lengths.at(length.less);
      if (size <= less) {
        fail(printable(member->name) + " is " + to_string(member->shape) + ": " +
             std::to_string(size) + " rows" + (length.per_head ? " a head" : "") +
             ", expected more than " + std::to_string(less) + " (" + length.less + ")");
      }
      size -= less;
      const auto said = config_ == nullptr || length.config_key.empty()
                            ? std::nullopt
                            : count_said(*config_, scheme_, length.config_key);
      if (said && said->value != size) {
        throw Error(said->source + " is " + std::to_string(said->value) + ", but " +
                    std::to_string(size) + " by the shape of " + printable(member->name) +
                    " in " + archive_.path);
      }
      lengths.of[length.name] = size;
    }
    return lengths;
  }

  SaidCount head_count() const {
    if (options_.n_heads) {
      if (*options_.n_heads == 0) throw Error("--n-heads is 0, expected one head or more");
      return {*options_.n_heads, "--n-heads"};
    }
    for (const auto* list : {&result_.file, &result_.config}) {
      for (const Said& said : *list) {
        if (said.name != "n_heads") continue;
        std::size_t count = 0;
        const char* const end = said.value.data() + said.value.size();
        const auto read = std::from_chars(said.value.data(), end, count);
        if (read.ec != std::errc() || read.ptr != end || count == 0) {
          throw Error(said.source + ": n_heads is \"" + printable(said.value) +
                      "\", expected a whole number from 1");
        }
        return {count, said.source};
      }
    }
    fail("nothing says how many heads there are: give --n-heads or --config");
  }

  void add_last_norm() {
    std::vector<std::string> missing;
    bool there = false;
    for (const TensorRule& rule : scheme_.last_norm) {
      const Member* found = nullptr;
      for (const std::string& name : rule.names) {
        const std::string full = tower_.beside(name);
        const Member* member = full.empty() ? nullptr : names_.find(full);
        if (member == nullptr) continue;
        found = member;
        add(rule.native, *member, view_of(archive_.path, *member, rule, {}));
      }
      there = there || found != nullptr;
      if (found == nullptr && rule.native == "norm.weight") {
        missing.push_back(printable(names_.spelt(tower_.beside(rule.names[0]))));
      }
    }
    if (there && !missing.empty()) fail(missing[0] + " is missing");
  }

  // Tables that stand in what holds the layers.
  void refuse_rotary_beside() const {
    std::string inner = tower_.before;
    for (const NameIndex::Entry& entry : names_.all()) {
      for (const std::string& table : rotary_tables()) {
        const std::size_t at = entry.name.find(table);
        if (at == entry.name.npos || !has_components(entry.name, table)) continue;
        if (inner.starts_with(entry.name.substr(0, at))) {
          is_rotary_table(entry.name, *entry.member);
        }
      }
    }
  }

  // Some rows know no activation without a config.
  void require_activation() const {
    if (tower_.attention) return;
    for (const auto* list : {&result_.file, &result_.config, &result_.defaults}) {
      for (const Said& said : *list) {
        if (said.name == "activation") return;
      }
    }
    fail("nothing says the activation of scheme " + scheme_.name + ": give --config");
  }

  const Archive& archive_;
  const NameIndex& names_;
  const Config* config_;
  const TranslateOptions& options_;
  Tower tower_;
  const Scheme& scheme_;
  bool rope_known_ = false;
  Translated result_;
  std::set<const Member*> used_;
};

Translated translate_native(const Archive& archive, const Config* config) {
  Translated result;
  result.archive = archive;
  result.scheme = native_scheme().name;
  std::vector<std::size_t> layers;
  for (const Member& member : archive.members) {
    const Numbered parts = take_apart(member.name);
    if (parts.before == "layers." && parts.after.starts_with('.')) result.stack = true;
  }
  result.evidence = {"names are native"};
  for (const auto& [name, value] : archive.settings) {
    result.file.push_back({name, value, archive.path});
  }
  result.config = settings_of(config, native_scheme(), layers, result.stack, true).config;
  return result;
}

}  // namespace

Translated translate(const Archive& archive, const TranslateOptions& options) {
  const std::optional<Config> opened = open_config(options.config, archive.path);
  const Config* const config = opened ? &*opened : nullptr;
  const NameIndex names(archive);
  std::optional<Tower> tower = recognise(archive, names, config, options.prefix);
  if (!tower) return translate_native(archive, config);
  return Translator(archive, names, config, options, std::move(*tower)).translate();
}

}  // namespace mha
