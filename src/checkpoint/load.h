#pragma once

#include <cstddef>
#include <vector>

#include "checkpoint/found_tensor.h"
#include "checkpoint/model_options.h"
#include "checkpoint/settings.h"
#include "checkpoint/translate.h"
#include "files/archive.h"
#include "layer/settings.h"
#include "layer/weights.h"

namespace mha {

// A layer whose shapes and settings are checked and none of whose tensors was
// read.
struct OpenedLayer {
  std::size_t index = 0;  // in its file
  LayerSizes sizes;       // d_ff also where only its attention runs
  LayerSettings settings;
  FoundTensors tensors;  // all that the file holds of it
};

struct OpenedModel {
  Archive file;  // as it was given
  Translated translated;
  std::vector<OpenedLayer> layers;  // those that run
  std::size_t n_layers = 0;         // those that the file holds
  bool final_norm = false;          // runs: all layers do, and whole
  FoundTensors tensors;             // of the stack: norm.weight, norm.bias
  std::vector<SettingInForce> in_force;
  // Of in_force, the head counts that a config says otherwise: worth a note.
  std::vector<SettingInForce> overruled;
};

// Finds what the options ask for, in any scheme that translate() knows, and
// holds shapes and settings of all layers against each other, from headers
// only. A setting is the option's, else the weights file's, the config's, the
// scheme's, else the default of layer/settings.h. Throws Error that names file,
// tensor and both shapes; for tensors and settings that are unknown, with the
// nearest known name; for a layer or a part that is not there.
OpenedModel open_model(const Archive& archive, const ModelOptions& options);

// Reads the tensors that the opened layers need, and no others. `options` are
// those that it was opened with. Throws Error for a dtype that is no number
// and for elements that are not finite, unless allowed.
template <typename T>
Encoder<T> read_model(const OpenedModel& model, const ModelOptions& options);

}  // namespace mha
