#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/found_tensor.h"
#include "checkpoint/head_count.h"
#include "checkpoint/settings.h"
#include "layer/settings.h"
#include "layer/weights.h"

namespace mha {

// A layer as its tensors tell it.
struct FoundLayer {
  std::size_t index = 0;
  std::string prefix;  // "layers.2."
  LayerSizes sizes;
  HeadCount n_heads;
  HeadCount n_kv_heads;
  FoundTensors tensors;
};

// The head count that options, file and config say of a layer. Throws Error
// where option and file contradict each other.
HeadCount said_heads(const SaidSettings& said, std::size_t layer, const std::string& name);

// How a layer computes as far as `part`: of each setting what the weightiest
// voice says, else the default. All of them, the sizes too, go to `in_force`
// with their sources; what is said and has nothing to act on is marked "not
// used". Fills in sizes.attention.zero_key. Throws Error for values that are
// none, sizes that contradict the shapes, rotary positions on an odd number of
// channels, and norms that the layer needs and does not have.
LayerSettings resolve(const Archive& archive, const SaidSettings& said, FoundLayer& layer,
                      Part part, std::vector<SettingInForce>& in_force);

// One list of what is in force in all layers: those that differ by layer as
// layers.K.NAME.
std::vector<SettingInForce> merge(const std::vector<FoundLayer>& layers,
                                  const std::vector<std::vector<SettingInForce>>& in_force);

}  // namespace mha
