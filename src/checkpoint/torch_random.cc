#include "checkpoint/torch_random.h"

#include <array>
#include <cmath>
#include <cstddef>

// This file is compiled with -ffp-contract=off: an operation is fused where
// std::fma says so, on machines with and without an instruction for it, or the
// last bits would differ.

namespace mha {
namespace {

// The natural logarithm of a normal number above 0, by Cephes' polynomial
// (logf) as PyTorch's vectors compute it.
float vector_log(float x) {
  constexpr std::array<float, 9> kPolynomial = {
      7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
      -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
      2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  constexpr float kRootHalf = 0.707106781186547524F;
  int exponent = 0;
  const float m = std::frexp(x, &exponent);  // in [0.5, 1)
  auto e = static_cast<float>(exponent);
  float t = m - 1.0F;
  if (m < kRootHalf) {
    e -= 1.0F;
    t += m;
  }
  const float z = t * t;
  float y = kPolynomial[0];
  for (std::size_t i = 1; i < kPolynomial.size(); ++i) y = std::fma(y, t, kPolynomial[i]);
  y *= t;
  y = std::fma(y, z, e * -2.12194440e-4F);
  y -= z * 0.5F;
  return std::fma(e, 0.693359375F, t + y);
}

struct SinCos {
  float sin;
  float cos;
};

// Sine and cosine of an angle from 0, by Cephes' polynomials (sinf, cosf).
SinCos vector_sincos(float angle) {
  constexpr float kFourOverPi = 1.27323954473516F;
  const int octant = (static_cast<int>(angle * kFourOverPi) + 1) & ~1;
  const auto k = static_cast<float>(octant);
  // angle - k pi/4, pi/4 in three parts
  float x = std::fma(k, -0.78515625F, angle);
  x = std::fma(k, -2.4187564849853515625e-4F, x);
  x = std::fma(k, -3.77489497744594108e-8F, x);
  const float z = x * x;
  float c = std::fma(2.443315711809948e-5F, z, -1.388731625493765e-3F);
  c = std::fma(c, z, 4.166664568298827e-2F);
  c *= z;
  c = std::fma(c, z, -(z * 0.5F));
  c += 1.0F;
  float s = std::fma(-1.9515295891e-4F, z, 8.3321608736e-3F);
  s = std::fma(s, z, -1.6666654611e-1F);
  s *= z;
  s = std::fma(s, x, x);
  const bool swapped = (octant & 2) != 0;
  const float sin = swapped ? c : s;
  const float cos = swapped ? s : c;
  return {(octant & 4) != 0 ? -sin : sin, ((octant - 2) & 4) == 0 ? -cos : cos};
}

}  // namespace

float TorchRandom::uniform_f32() {
  constexpr std::uint32_t kBits = (1U << 24U) - 1U;
  return static_cast<float>(static_cast<std::uint32_t>(engine_()) & kBits) * 0x1p-24F;
}

double TorchRandom::uniform_f64() {
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 53U) - 1U;
  const std::uint64_t high = engine_();
  const std::uint64_t low = engine_();
  return static_cast<double>((high << 32U | low) & kBits) * 0x1p-53;
}

void TorchRandom::uniform(std::span<float> values, double low, double high) {
  const auto from = static_cast<float>(low);
  const float width = static_cast<float>(high) - from;
  for (float& value : values) value = std::fma(uniform_f32(), width, from);
}

// Box and Muller's pairs.
double TorchRandom::normal_f64() {
  if (cached_) {
    const double second = *cached_;
    cached_.reset();
    return second;
  }
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  const double u1 = uniform_f64();
  const double u2 = uniform_f64();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u2));
  const double angle = kTwoPi * u1;
  cached_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

// Turns 16 uniform numbers into normal ones, i and i + 8 a pair.
void TorchRandom::normal_block(std::span<float, 16> block, float mean, float std) {
  constexpr float kTwoPi = 6.283185307179586F;
  for (std::size_t i = 0; i < 8; ++i) {
    const float radius = std::sqrt(-2.0F * vector_log(1.0F - block[i]));
    const auto [sin, cos] = vector_sincos(kTwoPi * block[i + 8]);
    block[i] = std::fma(radius * cos, std, mean);
    block[i + 8] = std::fma(radius * sin, std, mean);
  }
}

void TorchRandom::normal(std::span<float> values, double mean, double std) {
  constexpr std::size_t kBlock = 16;
  if (values.size() < kBlock) {
    for (float& value : values) value = static_cast<float>(normal_f64() * std + mean);
    return;
  }
  const auto convert = [&](std::size_t first) {
    normal_block(values.subspan(first).first<kBlock>(), static_cast<float>(mean),
                 static_cast<float>(std));
  };
  for (float& value : values) value = uniform_f32();
  std::size_t first = 0;
  for (; first + kBlock <= values.size(); first += kBlock) convert(first);
  if (first == values.size()) return;
  // The last 16 are drawn anew, over up to 15 that are done.
  first = values.size() - kBlock;
  for (float& value : values.subspan(first)) value = uniform_f32();
  convert(first);
}

}  // namespace mha
