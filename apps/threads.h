#pragma once

#include <cstddef>
#include <optional>

namespace mha {

// Makes parallel() and the BLAS use as many threads as the option says, else
// OPENBLAS_NUM_THREADS or OMP_NUM_THREADS, else as many as the processors that
// this process may use; more than those are clamped with a warning. Returns how
// many.
std::size_t set_up_threads(std::optional<std::size_t> asked);

}  // namespace mha
