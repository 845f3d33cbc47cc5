#pragma once

#include "mha_weights/options.h"

namespace mha {

// Prints what is in a weights file, as text or JSON.
void inspect(const InspectOptions& options);

}  // namespace mha
