#include "files/torch_tensors.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = PickleValue::Kind;
using Index = std::uint32_t;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostNameBytes = std::size_t{16} << 20;

bool gives_a_dict(std::string_view function) {
  return function == "collections.OrderedDict" || function == "collections.defaultdict";
}

bool is_script(const Pickle& pickle, Index index) {
  return pickle.name_of(pickle.callee_of(index)).starts_with("__torch__.");
}

// The keys and values of a dict, of a subclass that is one, or of what a
// TorchScript object consists of.
const std::vector<Index>* entries_of(const Pickle& pickle, Index index) {
  const PickleValue& value = pickle[index];
  if (value.kind == Kind::dict) return &value.items;
  if (value.kind != Kind::call) return nullptr;
  if (gives_a_dict(pickle.name_of(value.callee))) return &value.items;
  if (!is_script(pickle, index) || pickle[value.state].kind != Kind::dict) return nullptr;
  return &pickle[value.state].items;
}

const std::vector<Index>* list_of(const Pickle& pickle, Index index) {
  const PickleValue& value = pickle[index];
  return value.kind == Kind::list || value.kind == Kind::tuple ? &value.items : nullptr;
}

std::string key_of(const Pickle& pickle, Index index) {
  const PickleValue& value = pickle[index];
  if (value.kind == Kind::text) return std::string(value.text);
  if (value.kind == Kind::integer) return std::to_string(value.integer);
  return describe(pickle, index);
}

// Walks dicts and lists and names what it finds.
class Walk {
 public:
  Walk(const Pickle& pickle, const std::string& path)
      : pickle_(pickle), path_(path), leads_(pickle.values.size()) {}

  TorchTensors run() {
    if (leads_to_tensors(pickle_.root)) visit(pickle_.root, "", 0);
    refuse_none();
    refuse_twice();
    return std::move(found_);
  }

 private:
  enum class Leads : std::uint8_t { unknown, no, yes };
  struct Step {
    Index index;
    std::size_t next = 0;  // child to look at
  };

  // Values of a dict, a list or an object, null where there are none to come.
  const Index* child_of(Index index, std::size_t place) const {
    if (const auto* entries = entries_of(pickle_, index)) {
      return 2 * place + 1 < entries->size() ? &(*entries)[2 * place + 1] : nullptr;
    }
    const auto* list = list_of(pickle_, index);
    return list != nullptr && place < list->size() ? &(*list)[place] : nullptr;
  }

  // Depth first, without recursion: nobody has said how deep it is. A value
  // that is open on the way (it contains itself) counts as leading nowhere.
  bool leads_to_tensors(Index start) {
    if (leads_[start] != Leads::unknown) return leads_[start] == Leads::yes;
    std::vector<Step> steps{{start}};
    leads_[start] = Leads::no;
    while (!steps.empty()) {
      const Index index = steps.back().index;
      if (is_torch_tensor(pickle_, index)) leads_[index] = Leads::yes;
      const Index* child =
          leads_[index] == Leads::yes ? nullptr : child_of(index, steps.back().next++);
      if (child == nullptr) {
        steps.pop_back();
        if (leads_[index] == Leads::yes && !steps.empty()) {
          leads_[steps.back().index] = Leads::yes;
        }
      } else if (leads_[*child] == Leads::yes) {
        leads_[index] = Leads::yes;
      } else if (leads_[*child] == Leads::unknown) {
        leads_[*child] = Leads::no;
        steps.push_back({*child});
      }
    }
    return leads_[start] == Leads::yes;
  }

  // REQUIRES that it leads to tensors.
  void visit(Index index, const std::string& name, std::size_t depth) {
    if (is_torch_tensor(pickle_, index)) {
      found_.tensors.push_back(torch_tensor(pickle_, index, name, path_));
      return;
    }
    if (depth == kMaxDepth) {
      throw Error(path_ + ": nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    open_.push_back(index);
    const auto* entries = entries_of(pickle_, index);
    for (std::size_t i = 0; const Index* child = child_of(index, i); ++i) {
      std::string inner = name;
      if (entries == nullptr) {
        inner += "[" + std::to_string(i) + "]";
      } else {
        inner += (name.empty() ? "" : ".") + key_of(pickle_, (*entries)[2 * i]);
      }
      require_room(inner);
      if (std::find(open_.begin(), open_.end(), *child) != open_.end()) {
        found_.skipped.push_back({inner, "a dict or list that contains itself"});
      } else if (leads_to_tensors(*child)) {
        visit(*child, inner, depth + 1);
      } else if (!is_script(pickle_, index)) {  // their flags are as many as their tensors
        found_.skipped.push_back({inner, describe(pickle_, *child)});
      }
    }
    open_.pop_back();
  }

  // Whatever is not shared took a byte of the pickle at least.
  void require_room(const std::string& name) {
    name_bytes_ += name.size();
    if (++names_ > pickle_.end - pickle_.begin || name.size() > kLongestName ||
        name_bytes_ > kMostNameBytes) {
      throw Error(path_ + ": names more than a checkpoint does (dicts shared by dicts?)");
    }
  }

  void refuse_none() const {
    if (!found_.tensors.empty()) return;
    const std::string advice = "; save a dict of tensors, model.state_dict()";
    const bool is_plain = entries_of(pickle_, pickle_.root) != nullptr ||
                          list_of(pickle_, pickle_.root) != nullptr;
    if (!is_plain) {
      throw Error(path_ + ": is a pickled " + describe(pickle_, pickle_.root) +
                  ", which would have to be run" + advice);
    }
    std::vector<std::string> things;
    for (std::size_t i = 0; const Index* child = child_of(pickle_.root, i); ++i) {
      const auto* entries = entries_of(pickle_, pickle_.root);
      const std::string key = entries == nullptr ? "[" + std::to_string(i) + "]"
                                                 : key_of(pickle_, (*entries)[2 * i]);
      things.push_back(key + " (" + describe(pickle_, *child) + ")");
    }
    throw Error(path_ + ": holds no tensor but " + mha::list_of(things) + advice);
  }
  void refuse_twice() const {
    std::unordered_set<std::string_view> names;
    for (const TorchTensor& tensor : found_.tensors) {
      if (names.insert(tensor.name).second) continue;
      throw Error(path_ + ": " + printable(tensor.name) + " stands in the checkpoint twice");
    }
  }

  const Pickle& pickle_;
  const std::string& path_;
  std::vector<Leads> leads_;
  std::vector<Index> open_;  // dicts and lists from the root to here
  std::size_t names_ = 0;
  std::size_t name_bytes_ = 0;
  TorchTensors found_;
};

}  // namespace

TorchTensors tensors_of(const Pickle& pickle, const std::string& path) {
  return Walk(pickle, path).run();
}

std::map<std::string, TorchStorage> storages_of(const Pickle& pickle,
                                                const std::string& path) {
  std::map<std::string, TorchStorage> storages;
  for (Index index = 0; index < pickle.values.size(); ++index) {
    if (auto storage = torch_storage(pickle, index, path)) {
      std::string key = storage->key;
      storages.try_emplace(std::move(key), std::move(*storage));
    }
  }
  return storages;
}

}  // namespace mha
