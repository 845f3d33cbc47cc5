#pragma once

#include "mha_bench/options.h"

namespace mha {

// Checks every case, then times all and prints what came of it. Returns the exit
// status: 1 where a case differs from the f64 path; nothing is timed then.
int bench(const BenchOptions& options);

}  // namespace mha
