#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mha {

// The f32 kernels written for SIMD units are compiled for several of them; the best
// that the processor has is chosen when the first kernel is called.

// "AVX-512", "AVX2", "SSE4", …
const char* simd_target() noexcept;
// Floats in one of its vectors.
std::size_t simd_lanes() noexcept;

// Those that this processor has, the best first, and the choice of another. What
// is packed is read with the target that packed it; throws Error on a name that
// is not among them. Not while a kernel runs.
std::vector<std::string> simd_targets();
void use_simd_target(const std::string& name);

// In place: e^x of x <= 0 within 2 ulp, exactly 0 for -Inf and below the
// logarithm of the smallest normal number.
void exp_negative(std::span<float> x) noexcept;

}  // namespace mha
