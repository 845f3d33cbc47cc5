#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/name_index.h"
#include "checkpoint/schemes.h"
#include "files/archive.h"

namespace mha {

// One layer of a tower, and its tensors by their names under its prefix.
struct LayerNames {
  std::size_t index = 0;
  std::string prefix;  // "encoder.layer.3.", with dots
  std::map<std::string, const Member*, std::less<>> tensors;
  // Beside its attention, where the tower is one of attention alone.
  std::vector<const Member*> strays;
};

// Layers whose names differ in a number alone.
struct Tower {
  const Scheme* scheme = nullptr;
  std::string before;                 // of the number: "encoder.layer.", or the whole prefix
  bool stack = false;                 // there is a number
  bool attention = false;             // alone
  std::vector<LayerNames> layers;     // in order
  std::vector<std::string> evidence;  // a line each: why this scheme

  // A name beside the layers, "../norm.weight" too, in full; "" where there is
  // no such place.
  std::string beside(std::string_view name) const;
};

using Rows = std::vector<const Scheme*>;

// How well a row fits the names of a tower.
struct Fit {
  std::size_t around = 0;   // tensors that are not attention's
  std::size_t missing = 0;  // that it needs
  std::ptrdiff_t score = 0;
};

// Layers, and the rows whose first tensor they have.
struct Draft {
  Tower tower;
  std::string after;  // the number
  Rows rows;
  std::vector<Fit> fits;  // of the rows
  bool dropped = false;

  const Fit& best() const {
    return *std::max_element(fits.begin(), fits.end(),
                             [](const Fit& a, const Fit& b) { return a.score < b.score; });
  }
};

// Every tower of the file with a layer under `prefix` (with dots; "": all), by
// the first tensors of the rows; `behind_wrappers`: other components may stand
// in front of it. Attention within a whole layer is that layer's.
// Throws Error, begun with `path`, for more towers than any model has.
std::vector<Draft> draft_towers(const std::string& path, const NameIndex& names,
                                std::string_view prefix, bool behind_wrappers);

// Whether the row has more than attention.
bool is_whole(const Scheme& scheme);

// The rows by the names of their tensors: of the first alone, or of any.
using RowsByName = std::unordered_map<std::string_view, Rows>;
const RowsByName& rows_by_name(bool first_alone);

// Calls visit(prefix, rows) for each way to part a name into a prefix and a
// name of the table.
template <typename Visit>
void part(std::string_view name, const RowsByName& rows, Visit&& visit) {
  for (std::size_t at = 0; at != name.npos;) {
    if (const auto found = rows.find(name.substr(at)); found != rows.end()) {
      visit(name.substr(0, at), found->second);
    }
    const std::size_t dot = name.find('.', at);
    at = dot == name.npos ? dot : dot + 1;
  }
}

}  // namespace mha
