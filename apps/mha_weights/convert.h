#pragma once

#include "mha_weights/options.h"

namespace mha {

// Writes the layers of a weights file under native names, numbers unchanged.
void convert(const ConvertOptions& options);

}  // namespace mha
