#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/name_index.h"
#include "checkpoint/towers.h"
#include "files/archive.h"

namespace mha {

// What holds the layers of a tower against its row, by names and shapes. All
// throw Error that names file and tensor.
class LayerChecks {
 public:
  // `rope_known`: somebody says how positions turn, so that tables of rotary
  // positions may be left aside. Borrows all of them.
  LayerChecks(const std::string& path, const NameIndex& names, const Tower& tower,
              bool rope_known)
      : path_(path), names_(names), tower_(tower), rope_known_(rope_known) {}

  // Nothing in a layer is passed over that may matter: a tensor that the row
  // does not know, or that stands for what is not done.
  void require_known(const LayerNames& layer) const;
  // The row says how matrices lie; a shape that only the other way would fit is
  // an error, not a hint.
  void require_orientation(const LayerNames& layer) const;
  // Rotary tables in what holds the layers.
  void refuse_rotary_beside() const;
  // The tensor under one of these names; null where there is none.
  const Member* find(const LayerNames& layer, const std::vector<std::string>& names) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  std::string spelt(const LayerNames& layer, const std::string& name) const;
  void refuse_undone(std::string_view name, const Member& member) const;
  bool is_rotary_table(std::string_view name, const Member& member) const;

  const std::string& path_;
  const NameIndex& names_;
  const Tower& tower_;
  bool rope_known_;
};

// Why a tensor of that name is refused; "" where it is not.
std::string undone(std::string_view name);

}  // namespace mha
