#pragma once

#include <cstddef>
#include <string>

#include "base/parallel.h"
#include "kernels/simd.h"

namespace mha {

// Back to the best target at the end of a test.
struct SimdGuard {
  SimdGuard() = default;
  SimdGuard(const SimdGuard&) = delete;
  SimdGuard& operator=(const SimdGuard&) = delete;
  ~SimdGuard() { use_simd_target(simd_targets().front()); }
};

// Back to one thread.
struct ThreadsGuard {
  ThreadsGuard() = default;
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;
  ~ThreadsGuard() { use_threads(1); }
};

}  // namespace mha
