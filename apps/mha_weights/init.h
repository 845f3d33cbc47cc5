#pragma once

#include "mha_weights/options.h"

namespace mha {

// Draws the weights, then the sample, and writes both or none.
void init(const InitOptions& options);

}  // namespace mha
