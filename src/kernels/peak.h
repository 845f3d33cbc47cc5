#pragma once

namespace mha {

// Floating-point operations a second of multiply-adds on registers alone, on all
// threads of parallel() together: what no kernel can exceed, the best of short
// windows within `seconds` (> 0).
double fma_peak(double seconds);

}  // namespace mha
