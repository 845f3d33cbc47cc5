#pragma once

#include "mha_maps/options.h"

namespace mha {

// Writes the chosen maps as a picture or a page. Throws Error.
void render(const RenderOptions& options);

}  // namespace mha
