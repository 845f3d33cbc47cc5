#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/archive.h"

namespace mha {

// The names of a file as the table of schemes writes them, with dots and no
// ":0" behind, in order.
class NameIndex {
 public:
  struct Entry {
    std::string name;
    const Member* member;
  };

  // Borrows the archive. Throws Error for two tensors of one name.
  explicit NameIndex(const Archive& archive);

  // Null where there is none.
  const Member* find(std::string_view name) const;
  // Those that begin with `prefix`.
  std::span<const Entry> under(std::string_view prefix) const;
  std::span<const Entry> all() const { return entries_; }

  // A name of the table, or what one begins with, as this file would spell it.
  std::string spelt(const std::string& name) const;
  std::string spelt_prefix(std::string prefix) const;

 private:
  std::vector<Entry> entries_;  // sorted
  bool slashes_ = false;
  bool zeros_ = false;
};

// A name with dots for slashes and without ":0".
std::string with_dots(std::string name);

// Whether the components of `part` stand in `name` in a row.
bool has_components(std::string_view name, std::string_view part);

// A prefix taken apart at the number that counts layers: the last component
// that is one, else the first that ends in _NUMBER.
struct Numbered {
  std::string_view before;  // "encoder.layer."
  std::string_view number;  // "3"; "" where there is none
  std::string_view after;   // "."
};
Numbered take_apart(std::string_view prefix);

}  // namespace mha
