#pragma once

#include "mha_maps/options.h"

namespace mha {

// Prints what each head does, over the maps of all files. Throws Error.
void analyze(const AnalyzeOptions& options);

}  // namespace mha
