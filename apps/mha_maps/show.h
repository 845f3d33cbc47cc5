#pragma once

#include "mha_maps/options.h"

namespace mha {

// Draws the chosen maps on standard output. Throws Error.
void show(const ShowOptions& options);

}  // namespace mha
