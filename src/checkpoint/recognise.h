#pragma once

#include <optional>
#include <string>

#include "checkpoint/config.h"
#include "checkpoint/name_index.h"
#include "checkpoint/towers.h"
#include "files/archive.h"

namespace mha {

// Finds the layers by the names of their tensors, and the row of the table by
// these, the config's model_type and what stands around. Nothing where the
// names are native, or none of the table's but near to native ones. Throws
// Error: for names that no row knows; for several towers, with their list,
// unless `prefix` selects one; where the names fit rows that compute
// differently and nothing tells which; for a family that is not done.
std::optional<Tower> recognise(const Archive& archive, const NameIndex& names,
                               const Config* config, const std::string& prefix);

}  // namespace mha
