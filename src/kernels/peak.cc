#include "kernels/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/simd_table.h"

namespace mha {

double fma_peak(double seconds) {
  using Clock = std::chrono::steady_clock;
  // Long enough for the threads' waking up not to show.
  constexpr double kWindow = 2e-3;
  static std::atomic<float> kept;  // or the compiler would see that nobody looks
  const std::size_t threads = threads_in_use();
  std::size_t steps = 4096;
  double best = 0.0;
  for (double elapsed = 0.0; elapsed < seconds;) {
    const auto start = Clock::now();
    parallel(threads, [steps](std::size_t) { kept = simd().chain_fma(steps); });
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    const double flops = static_cast<double>(steps * simd().fma_flops * threads);
    best = std::max(best, flops / time);
    elapsed += time;
    if (time < kWindow) steps *= 2;
  }
  return best;
}

}  // namespace mha
