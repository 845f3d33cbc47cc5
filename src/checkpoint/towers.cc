#include "checkpoint/towers.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

// Each is held against the names of the file.
constexpr std::size_t kMostTowers = 256;

// All names that a row knows under a layer's prefix.
const std::unordered_set<std::string_view>& known_names(const Scheme& scheme) {
  static const auto all = [] {
    std::unordered_map<const Scheme*, std::unordered_set<std::string_view>> sets;
    for (const Scheme& row : schemes()) {
      auto& names = sets[&row];
      for (const TensorRule& rule : row.tensors) {
        names.insert(rule.names.begin(), rule.names.end());
      }
      names.insert(row.aside.begin(), row.aside.end());
    }
    return sets;
  }();
  return all.at(&scheme);
}

bool is_neutral(std::string_view name) {
  const auto in = [&](std::string_view part) { return has_components(name, part); };
  return std::any_of(rotary_tables().begin(), rotary_tables().end(), in) ||
         std::any_of(common_refusals().begin(), common_refusals().end(),
                     [&](const Refusal& refusal) { return in(refusal.name); });
}

Fit fit_of(const Scheme& scheme, const std::vector<LayerNames>& layers) {
  Fit fit;
  for (const LayerNames& layer : layers) {
    std::size_t present = 0;
    for (const TensorRule& rule : scheme.tensors) {
      const bool there =
          std::any_of(rule.names.begin(), rule.names.end(),
                      [&](const std::string& name) { return layer.tensors.contains(name); });
      present += there ? 1 : 0;
      fit.around += there && !is_of_attention(rule.native) ? 1 : 0;
      fit.missing += !there && rule.need == Need::always ? 1 : 0;
    }
    fit.score += static_cast<std::ptrdiff_t>(present);
    for (const auto& [name, member] : layer.tensors) {
      if (!known_names(scheme).contains(name) && !is_neutral(name)) --fit.score;
    }
  }
  fit.score -= static_cast<std::ptrdiff_t>(fit.missing);
  return fit;
}

// The tensors of a draft, by layers.
void gather(Draft& draft, const NameIndex& names) {
  Tower& tower = draft.tower;
  std::map<std::size_t, LayerNames> layers;
  for (const NameIndex::Entry& entry : names.under(tower.before)) {
    std::string_view rest = std::string_view(entry.name).substr(tower.before.size());
    std::size_t index = 0;
    std::string prefix = tower.before;
    if (tower.stack) {
      const std::string_view digits = rest.substr(0, rest.find('.'));
      const Numbered numbered = take_apart(digits);
      if (!numbered.before.empty() || numbered.number.empty()) continue;
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
      rest.remove_prefix(digits.size());
      prefix += std::string(digits) + draft.after;
    }
    LayerNames& layer = layers[index];
    layer.index = index;
    layer.prefix = prefix;
    if (!rest.starts_with(draft.after)) {
      layer.strays.push_back(entry.member);
    } else {
      rest.remove_prefix(draft.after.size());
      layer.tensors.emplace(rest, entry.member);
    }
  }
  for (auto& [index, layer] : layers) {
    const bool known = std::any_of(layer.tensors.begin(), layer.tensors.end(), [&](auto& one) {
      return std::any_of(draft.rows.begin(), draft.rows.end(), [&](const Scheme* row) {
        return known_names(*row).contains(one.first);
      });
    });
    if (known) tower.layers.push_back(std::move(layer));
  }
}

// Whether `prefix` stands at the front of a layer's prefix, up to the end of a
// component or to the number.
bool begins_with(std::string_view layer, std::string_view prefix) {
  if (!layer.starts_with(prefix)) return false;
  if (prefix.empty() || prefix.back() == '.' || prefix.size() == layer.size()) return true;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const char next = layer[prefix.size()];
  return next == '.' || (is_digit(next) && !is_digit(prefix.back()));
}

// As above, or behind wrappers: how much of the layer's prefix that takes up.
std::optional<std::size_t> selected(std::string_view layer, std::string_view prefix,
                                    bool behind_wrappers) {
  if (begins_with(layer, prefix)) return prefix.size();
  for (std::size_t dot = layer.find('.'); behind_wrappers && dot != layer.npos;
       dot = layer.find('.', dot + 1)) {
    if (begins_with(layer.substr(dot + 1), prefix)) return dot + 1 + prefix.size();
  }
  return std::nullopt;
}

// Attention within a whole layer is that layer's; of two that stand within each
// other, the one that misses more is none.
void drop_nested(std::vector<Draft>& drafts) {
  std::unordered_map<std::string_view, Draft*> layers;
  std::unordered_map<std::string_view, Draft*> attentions;
  for (Draft& draft : drafts) {
    for (const LayerNames& layer : draft.tower.layers) {
      (draft.tower.attention ? attentions : layers)[layer.prefix] = &draft;
    }
  }
  for (Draft& draft : drafts) {
    if (!draft.tower.attention) continue;
    for (const LayerNames& layer : draft.tower.layers) {
      const std::string_view prefix = layer.prefix;
      for (std::size_t end = 0; end != prefix.npos;) {
        const std::string_view outer = prefix.substr(0, end);
        if (layers.contains(outer)) draft.dropped = true;
        const auto found = attentions.find(outer);
        if (found != attentions.end() && found->second != &draft) {
          const bool worse = found->second->best().missing > draft.best().missing;
          (worse ? *found->second : draft).dropped = true;
        }
        const std::size_t dot = prefix.find('.', end);
        end = dot == prefix.npos ? dot : dot + 1;
      }
    }
  }
  std::erase_if(drafts, [](const Draft& draft) { return draft.dropped; });
}

}  // namespace

std::string Tower::beside(std::string_view name) const {
  std::string_view base = before;
  const auto up = [&base] {
    if (base.empty()) return false;
    base.remove_suffix(1);
    const std::size_t dot = base.rfind('.');
    base = dot == base.npos ? "" : base.substr(0, dot + 1);
    return true;
  };
  if (stack) up();
  while (name.starts_with("../")) {
    name.remove_prefix(3);
    if (!up()) return "";
  }
  return std::string(base) + std::string(name);
}

bool is_whole(const Scheme& scheme) {
  return std::any_of(scheme.tensors.begin(), scheme.tensors.end(),
                     [](const TensorRule& rule) { return !is_of_attention(rule.native); });
}

const RowsByName& rows_by_name(bool first_alone) {
  const auto build = [](bool first) {
    RowsByName rows;
    for (const Scheme& row : schemes()) {
      std::set<std::string_view> names;
      for (const TensorRule& rule : row.tensors) {
        if (first && rule.native != row.tensors[0].native) continue;
        names.insert(rule.names.begin(), rule.names.end());
      }
      for (const std::string_view name : names) rows[name].push_back(&row);
    }
    return rows;
  };
  static const RowsByName by_first = build(true);
  static const RowsByName by_any = build(false);
  return first_alone ? by_first : by_any;
}

std::vector<Draft> draft_towers(const std::string& path, const NameIndex& names,
                                std::string_view prefix, bool behind_wrappers) {
  std::map<std::string, Draft> drafts;
  for (const NameIndex::Entry& entry : names.all()) {
    part(entry.name, rows_by_name(true), [&](std::string_view stem, const Rows& rows) {
      const auto taken = selected(stem, prefix, behind_wrappers);
      if (!taken) return;
      Numbered parts = take_apart(stem);
      // A prefix that has the number too means this one alone.
      if (*taken >= parts.before.size() + parts.number.size()) parts = {stem, "", ""};
      for (const Scheme* row : rows) {
        const bool whole = is_whole(*row);
        Draft& draft = drafts[std::string(parts.before) + '\n' + std::string(parts.after) +
                              '\n' + (whole ? "layer" : "attention")];
        draft.tower.before = parts.before;
        draft.tower.stack = !parts.number.empty();
        draft.tower.attention = !whole;
        draft.after = parts.after;
        if (std::find(draft.rows.begin(), draft.rows.end(), row) == draft.rows.end()) {
          draft.rows.push_back(row);
        }
      }
    });
  }
  if (drafts.size() > kMostTowers) {
    std::vector<std::string> befores;
    for (const auto& [key, draft] : drafts) befores.push_back(draft.tower.before);
    throw Error(path + ": holds " + std::to_string(drafts.size()) +
                " towers of layers, choose one by --prefix: " + list_of(befores));
  }
  std::vector<Draft> list;
  for (auto& [key, draft] : drafts) {
    // In the order of the table.
    std::sort(draft.rows.begin(), draft.rows.end());
    gather(draft, names);
    Rows rows;
    for (const Scheme* row : draft.rows) {
      const Fit fit = fit_of(*row, draft.tower.layers);
      if (!draft.tower.attention && fit.around == 0) continue;
      rows.push_back(row);
      draft.fits.push_back(fit);
    }
    draft.rows = rows;
    if (rows.empty()) continue;
    // One that its program merely numbers (multi_head_attention_3) is no stack.
    Tower& tower = draft.tower;
    if (tower.attention && tower.layers.size() == 1 && tower.before.ends_with('_')) {
      tower.stack = false;
      tower.before = tower.layers[0].prefix;
      tower.layers[0].index = 0;
      tower.layers[0].strays.clear();
    }
    list.push_back(std::move(draft));
  }
  drop_nested(list);
  return list;
}

}  // namespace mha
