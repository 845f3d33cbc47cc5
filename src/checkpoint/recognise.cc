#include "checkpoint/recognise.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

// Settings that a row says without a config, but for the eps of its norms.
Settings telling(const Scheme& scheme) {
  Settings settings = scheme.defaults;
  std::erase_if(settings, [](const auto& setting) { return setting.first == "eps"; });
  std::sort(settings.begin(), settings.end());
  return settings;
}

std::string names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const Scheme* row : rows) names.push_back(row->name);
  return list_of(names);
}

std::vector<std::string> known_model_types() {
  std::set<std::string> types;
  for (const Scheme& row : schemes()) {
    if (row.undone.empty()) types.insert(row.model_types.begin(), row.model_types.end());
  }
  return {types.begin(), types.end()};
}

// Chooses the row of a tower.
class Choice {
 public:
  Choice(const Archive& archive, const NameIndex& names, const Config* config, Draft& draft)
      : archive_(archive), names_(names), config_(config), draft_(draft), rows_(draft.rows) {}

  // The name of the row that it is most like, for a list.
  std::string likely() {
    for (const LayerNames& layer : draft_.tower.layers) {
      for (const auto& [name, member] : layer.tensors) {
        for (const Refusal& refusal : common_refusals()) {
          if (has_components(name, refusal.name)) return "a kind that is not done";
        }
      }
    }
    std::erase_if(rows_, [&](const Scheme* row) { return speaks_against(*row); });
    keep_best();
    keep_marked();
    return rows_.empty() ? "no scheme" : rows_[0]->name;
  }

  void choose() {
    std::erase_if(rows_, [&](const Scheme* row) { return speaks_against(*row); });
    if (rows_.empty()) {
      fail("names like those of " + names_of(draft_.rows) +
           " stand beside others that none of them has, and no other scheme knows them");
    }
    const bool named = by_model_type();
    if (!named) {
      keep_best();
      keep_marked();
      // What shares its names is told by a config alone.
      if (draft_.tower.attention && rows_.size() > 1) {
        std::erase_if(rows_, [](const Scheme* row) { return row->by_config; });
      }
    }
    require_alike();
    const Scheme* row = rows_[0];
    if (!row->undone.empty() && named) {
      throw Error(config_->path + ": model_type is \"" +
                  printable(model_type_of(*config_, *row)) + "\": " + row->undone);
    }
    if (!row->undone.empty()) {
      fail("the names are those of " + row->title + ": " + row->undone);
    }
    draft_.tower.scheme = row;
    const LayerNames& first = draft_.tower.layers[0];
    draft_.tower.evidence.insert(
        draft_.tower.evidence.begin(),
        printable(names_.spelt(first.prefix + first_name(*row, first))) + ": " + row->title);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string& before = draft_.tower.before;
    throw Error(archive_.path + ": " +
                (before.empty() ? "" : printable(names_.spelt_prefix(before)) + ": ") + what);
  }

  static std::string first_name(const Scheme& row, const LayerNames& layer) {
    for (const std::string& name : row.tensors[0].names) {
      if (layer.tensors.contains(name)) return name;
    }
    return row.tensors[0].names[0];
  }

  bool is_under(const std::string& component) const {
    return has_components(draft_.tower.before, component);
  }
  bool is_beside(const std::string& name) const {
    const std::string full = draft_.tower.beside(name);
    return !full.empty() && names_.find(full) != nullptr;
  }
  bool speaks_against(const Scheme& row) const {
    return std::any_of(row.not_under.begin(), row.not_under.end(),
                       [&](auto& name) { return is_under(name); }) ||
           std::any_of(row.not_beside.begin(), row.not_beside.end(),
                       [&](auto& name) { return is_beside(name); });
  }

  // The rows that the config names, if it names any.
  bool by_model_type() {
    if (config_ == nullptr) return false;
    Rows named;
    for (const Scheme* row : rows_) {
      if (is_one_of(model_type_of(*config_, *row), row->model_types)) named.push_back(row);
    }
    if (!named.empty()) {
      rows_ = named;
      keep_best();
      keep_marked();
      draft_.tower.evidence.push_back(config_->path + ": model_type is " +
                                      printable(model_type_of(*config_, *rows_[0])));
      return true;
    }
    require_fitting_type();
    return false;
  }

  // A model_type that names none of the rows must be of a family whose names
  // the file need not have: attention alone, or in names of no family.
  void require_fitting_type() const {
    const auto best = static_cast<std::size_t>(&draft_.best() - draft_.fits.data());
    const Scheme& row = *draft_.rows[best];
    const std::string type = model_type_of(*config_, row);
    if (type.empty()) return;
    const std::string place = config_->path + ": model_type is \"" + printable(type) + "\"";
    for (const Scheme& other : schemes()) {
      if (!is_one_of(type, other.model_types)) continue;
      if (!other.undone.empty()) throw Error(place + ": " + other.undone);
      if (draft_.tower.attention || row.model_types.empty()) return;
      throw Error(place + ", but the names in " + archive_.path + " are those of " + row.name);
    }
    throw Error(place + ", which no scheme knows; known are " +
                list_of(known_model_types(), 40));
  }

  void keep_best() {
    std::ptrdiff_t best = 0;
    bool any = false;
    const auto score = [&](const Scheme* row) {
      const auto at = std::find(draft_.rows.begin(), draft_.rows.end(), row);
      return draft_.fits[static_cast<std::size_t>(at - draft_.rows.begin())].score;
    };
    for (const Scheme* row : rows_) {
      best = any ? std::max(best, score(row)) : score(row);
      any = true;
    }
    std::erase_if(rows_, [&](const Scheme* row) { return score(row) < best; });
  }

  void keep_marked() {
    if (rows_.size() < 2) return;
    Rows marked;
    std::vector<std::string> marks;
    for (const Scheme* row : rows_) {
      const auto under = std::find_if(row->under.begin(), row->under.end(),
                                      [&](auto& name) { return is_under(name); });
      const auto beside = std::find_if(row->beside.begin(), row->beside.end(),
                                       [&](auto& name) { return is_beside(name); });
      if (under == row->under.end() && beside == row->beside.end()) continue;
      marked.push_back(row);
      marks.push_back(under != row->under.end()
                          ? "the prefix has " + *under
                          : printable(names_.spelt(draft_.tower.beside(*beside))) +
                                " is there");
    }
    if (marked.empty()) return;
    if (marked.size() == 1) draft_.tower.evidence.push_back(marks[0] + ": " + marked[0]->name);
    rows_ = marked;
  }

  // Rows of the same names that compute differently are never guessed at.
  void require_alike() {
    if (rows_.size() < 2) return;
    for (const Scheme* row : rows_) {
      if (telling(*row) == telling(*rows_[0])) continue;
      fail("the names fit " + names_of(rows_) +
           ", which compute differently, and nothing tells which: give --config with its "
           "model_type");
    }
    std::string eps;
    for (const auto& [name, value] : rows_[0]->defaults) {
      if (name == "eps") eps = value;
    }
    draft_.tower.evidence.push_back("the names fit " + names_of(rows_) +
                                    ", which differ in eps at most: taken for " +
                                    rows_[0]->name + (eps.empty() ? "" : ", eps " + eps));
  }

  const Archive& archive_;
  const NameIndex& names_;
  const Config* config_;
  Draft& draft_;
  Rows rows_;
};

std::string list_of_towers(const NameIndex& names, const Config* config,
                           const Archive& archive, std::vector<Draft>& drafts) {
  std::vector<std::string> lines;
  for (Draft& draft : drafts) {
    const std::size_t count = draft.tower.layers.size();
    const std::string before = draft.tower.before.empty()
                                   ? "(no prefix)"
                                   : printable(names.spelt_prefix(draft.tower.before));
    lines.push_back(before + " (" + std::to_string(count) +
                    (count == 1 ? " layer" : " layers") + " of " +
                    Choice(archive, names, config, draft).likely() + ")");
  }
  return list_of(lines);
}

const std::vector<std::string> kNative = {"W_Q",  "W_K",   "W_V",  "W_O",  "W_DQ", "W_UQ",
                                          "W_QR", "W_DKV", "W_UK", "W_UV", "W_KR"};

bool is_native(std::string_view name) {
  if (name.starts_with("layers[")) return true;
  const Numbered parts = take_apart(name);
  if (parts.before == "layers." && parts.after.starts_with('.')) {
    name = parts.after.substr(1);
  }
  if (name.starts_with("heads[") || name.starts_with("kv_heads[")) return true;
  return is_one_of(name, kNative);
}

constexpr std::size_t kMostTried = 1000;

// The row that knows most of the names beside each other, though not its first:
// what is missing there.
std::optional<std::string> what_is_missing(const NameIndex& names) {
  std::map<std::pair<std::string_view, const Scheme*>, std::size_t> counts;
  for (const NameIndex::Entry& entry : names.all()) {
    part(entry.name, rows_by_name(false), [&](std::string_view stem, const Rows& rows) {
      for (const Scheme* row : rows) ++counts[{stem, row}];
    });
  }
  std::size_t most = 2;
  for (const auto& [place, count] : counts) most = std::max(most, count);
  std::string best_text;
  std::ptrdiff_t best = 0;
  std::size_t tried = 0;
  for (const auto& [place, count] : counts) {
    if (count < most || ++tried > kMostTried) continue;
    const std::string stem(place.first);
    const Scheme* row = place.second;
    std::vector<std::string> missing;
    for (const TensorRule& rule : row->tensors) {
      const auto there = [&](const std::string& name) {
        return names.find(stem + name) != nullptr;
      };
      if (rule.need == Need::always &&
          std::none_of(rule.names.begin(), rule.names.end(), there)) {
        const std::string name = names.spelt(stem + rule.names[0]);
        if (!is_one_of(name, missing)) missing.push_back(name);
      }
    }
    const std::ptrdiff_t score =
        static_cast<std::ptrdiff_t>(count) - static_cast<std::ptrdiff_t>(missing.size());
    if (missing.empty() || (!best_text.empty() && score <= best)) continue;
    best = score;
    best_text = list_of(missing) + (missing.size() == 1 ? " is" : " are") +
                " missing, for what else is there is named like " + row->title;
  }
  if (best_text.empty()) return std::nullopt;
  return best_text;
}

[[noreturn]] void refuse_unknown(const Archive& archive, const NameIndex& names) {
  for (const NameIndex::Entry& entry : names.all()) {
    for (const Refusal& refusal : common_refusals()) {
      if (has_components(entry.name, refusal.name)) {
        throw Error(archive.path + ": " + printable(entry.member->name) + ": " + refusal.why);
      }
    }
  }
  if (const auto missing = what_is_missing(names)) throw Error(archive.path + ": " + *missing);
  std::vector<std::string> found;
  for (const Member& member : archive.members) found.push_back(member.name);
  std::vector<std::string> known;
  for (const Scheme& row : schemes()) {
    if (row.undone.empty() && is_whole(row)) known.push_back(row.name);
  }
  throw Error(archive.path + ": no naming scheme knows these tensors: " + list_of(found, 6) +
              "; expected attention under the names W_Q, W_K, W_V and W_O, in_proj_weight, "
              "q_proj …, or layers as " +
              list_of(known, 40) + " name them");
}

}  // namespace

std::optional<Tower> recognise(const Archive& archive, const NameIndex& names,
                               const Config* config, const std::string& prefix) {
  const bool bare = archive.members.empty() || archive.members[0].name.empty();
  if (bare || std::any_of(archive.members.begin(), archive.members.end(),
                          [](const Member& member) { return is_native(member.name); })) {
    return std::nullopt;
  }
  const std::string asked = with_dots(prefix);
  std::vector<Draft> drafts = draft_towers(archive.path, names, asked, false);
  if (drafts.empty() && !asked.empty())
    drafts = draft_towers(archive.path, names, asked, true);
  if (drafts.empty()) {
    if (asked.empty()) {
      const auto is_near = [](const Member& member) {
        const std::size_t dot = member.name.find_last_of("./");
        return dot == member.name.npos && !nearest(member.name, kNative).empty();
      };
      if (std::any_of(archive.members.begin(), archive.members.end(), is_near)) {
        return std::nullopt;
      }
      refuse_unknown(archive, names);
    }
    std::vector<Draft> all = draft_towers(archive.path, names, "", false);
    if (all.empty()) refuse_unknown(archive, names);
    throw Error(archive.path + ": no layers under the prefix " + printable(prefix) +
                "; there are " + list_of_towers(names, config, archive, all));
  }
  if (drafts.size() > 1) {
    throw Error(archive.path + ": holds several towers of layers, choose one by --prefix: " +
                list_of_towers(names, config, archive, drafts));
  }
  Choice(archive, names, config, drafts[0]).choose();
  return std::move(drafts[0].tower);
}

}  // namespace mha
