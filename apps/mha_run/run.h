#pragma once

#include "mha_run/options.h"

namespace mha {

// Carries out one run: opens, computes, writes, reports. Returns the exit status
// (0, or 1 where a comparison failed); throws Error and ClosedPipe.
int run(const RunOptions& options);

}  // namespace mha
