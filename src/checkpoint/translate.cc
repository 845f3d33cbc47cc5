#include "checkpoint/translate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/error.h"
#include "checkpoint/config.h"
#include "checkpoint/layer_checks.h"
#include "checkpoint/native_names.h"
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
  static const std::vector<std::string> names = {"n_heads",       "n_kv_heads",
                                                 "d_model",       "d_head",
                                                 "d_ff",          "d_key",
                                                 "d_value",       "d_v",
                                                 "norm",          "norm_type",
                                                 "activation",    "gated",
                                                 "eps",           "scale",
                                                 "causal",        "softcap",
                                                 "rope",          "rope_theta",
                                                 "window",        "latent_eps",
                                                 "n_layers",      "relative_distance",
                                                 "add_zero_attn", "lower_case",
                                                 "strip_accents", "split_chinese",
                                                 "text_begin",    "text_end"};
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
    drop_undone();
    read_settings();
    checks_.emplace(archive_.path, names_, tower_, rope_known_);
    for (const LayerNames& layer : tower_.layers) {
      checks_->require_known(layer);
      checks_->require_orientation(layer);
      add_rules(layer);
    }
    if (tower_.stack && !tower_.attention) add_last_norm();
    add_embeddings();
    checks_->refuse_rotary_beside();
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

  // Layers from the first one on with something that is not done: a model may
  // have experts behind some layers without.
  void drop_undone() {
    for (std::size_t i = 1; i < tower_.layers.size(); ++i) {
      for (const auto& [name, member] : tower_.layers[i].tensors) {
        const std::string why = undone(name);
        if (why.empty()) continue;
        result_.not_done = archive_.path + ": " + printable(member->name) + ": " + why;
        tower_.layers.resize(i);
        return;
      }
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

  std::string native_name(const LayerNames& layer, const std::string& native) const {
    return tower_.stack ? "layers." + std::to_string(layer.index) + "." + native : native;
  }

  void add(const std::string& native, const Member& member, Member view) {
    used_.insert(&member);
    result_.archive.members.push_back(renamed(std::move(view), native));
  }

  void add_rules(const LayerNames& layer) {
    std::vector<std::string> missing;
    std::set<std::string> groups;  // that are there
    for (const TensorRule& rule : scheme_.tensors) {
      if (rule.need == Need::together && checks_->find(layer, rule.names) != nullptr) {
        groups.insert(rule.group);
      }
    }
    const Lengths lengths = scheme_.lengths.empty() ? Lengths{} : measure(layer);
    for (const TensorRule& rule : scheme_.tensors) {
      const bool first = layer.index == tower_.layers[0].index;
      const LayerNames& holder = rule.need == Need::from_first ? tower_.layers[0] : layer;
      const Member* member = checks_->find(holder, rule.names);
      if (rule.need == Need::from_first && !first &&
          checks_->find(layer, rule.names) != nullptr) {
        fail(printable(checks_->find(layer, rule.names)->name) + " is there, though layer " +
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
           scheme_.name + ")" + folded_hint() + shard_hint());
    }
  }

  // A norm that this layer of the family never has.
  void say_none(const LayerNames& layer, const std::string& weight) {
    result_.defaults.push_back({native_name(layer, weight.substr(0, weight.find('.'))), "none",
                                "scheme " + scheme_.name});
  }

  bool norms_are_units() const {
    if (config_ == nullptr || scheme_.unit_norm.first.empty()) return false;
    const ConfigEntry* entry = config_->find(scheme_.unit_norm.first);
    return entry != nullptr && entry->value == scheme_.unit_norm.second;
  }
  // Norms whose weights were folded away still normalise; without a word on it
  // nobody can tell them from none.
  std::string folded_hint() const {
    if (scheme_.unit_norm.first.empty()) return "";
    const Member* norm = nullptr;
    for (const TensorRule& rule : scheme_.tensors) {
      if (!rule.native.starts_with("norm") || norm != nullptr) continue;
      norm = checks_->find(tower_.layers[0], rule.names);
    }
    if (norm != nullptr) return "";
    return ": where norms are folded into what reads them, a config must say " +
           scheme_.unit_norm.first + " " + scheme_.unit_norm.second;
  }

  std::string shard_hint() const {
    const bool is_shard = archive_.path.find("-of-0") != archive_.path.npos;
    return is_shard ? ": a shard alone is not a model, give the .index.json beside it" : "";
  }

  void add_ones(const LayerNames& layer, const std::string& native) {
    const Member* bias = checks_->find(layer, rule_of("b_O").names);
    if (bias == nullptr) return;  // which is said to be missing
    result_.archive.members.push_back(
        ones(native_name(layer, native), element_count(bias->shape, bias->name)));
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
      const Member* member = checks_->find(layer, length.names);
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
    fail(
        "nothing says how many heads there are: give --n-heads, or --config with the "
        "model's config.json");
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

  // All of them or none: without one of its parts the sum is not the family's.
  // They count as left aside, and their shapes are not looked at, until somebody
  // turns text into x.
  void add_embeddings() {
    if (!scheme_.other_words.empty()) {
      result_.no_text = archive_.path + ": " + scheme_.title + " splits text " +
                        scheme_.other_words + ", which is not done";
      return;
    }
    std::vector<std::pair<std::string, const Member*>> found;
    std::vector<std::string> missing;
    for (const TensorRule& rule : scheme_.embeddings) {
      const Member* member = nullptr;
      for (const std::string& name : rule.names) {
        const std::string full = tower_.beside(name);
        if (member == nullptr && !full.empty()) member = names_.find(full);
      }
      if (member != nullptr) {
        found.emplace_back(rule.native, member);
      } else {
        missing.push_back(names_.spelt(tower_.beside(rule.names[0])));
      }
    }
    if (found.empty()) return;
    if (!missing.empty()) {
      result_.no_text = archive_.path + ": " + list_of(missing) +
                        (missing.size() == 1 ? " is" : " are") + " missing (scheme " +
                        scheme_.name + ")";
      return;
    }
    for (const auto& [native, member] : found) {
      result_.archive.members.push_back(renamed(*member, native));
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
  std::optional<LayerChecks> checks_;
  Translated result_;
  std::set<const Member*> used_;
};

Translated translate_native(const Archive& archive, const Config* config) {
  Translated result;
  result.archive = archive;
  result.scheme = native_scheme().name;
  std::vector<std::size_t> layers;
  for (const Member& member : archive.members) {
    if (is_one_of(member.name, native_embeddings())) result.unused.push_back(member.name);
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
  if (!tower && !options.prefix.empty()) {
    throw Error(archive.path + ": no layers under the prefix " + printable(options.prefix) +
                ": the names are native, of one tower");
  }
  if (!tower) return translate_native(archive, config);
  return Translator(archive, names, config, options, std::move(*tower)).translate();
}

}  // namespace mha
