#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>

namespace mha {

// PyTorch's CPU generator after torch.manual_seed(seed), bit for bit as its
// AVX2 builds draw (ATen/native/cpu/DistributionTemplates.h; MT19937 of
// Matsumoto & Nishimura 1998). A copy draws what the original would.
class TorchRandom {
 public:
  // The low 32 bits of the seed count; a negative one in two's complement.
  explicit TorchRandom(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

  // tensor.uniform_(low, high) of an f32 tensor, in row-major order.
  void uniform(std::span<float> values, double low, double high);
  // tensor.normal_(mean, std); torch.randn is normal(values, 0, 1). The size of
  // a tensor tells how it is drawn: 20 numbers do not begin with the 16 that
  // would be drawn alone.
  void normal(std::span<float> values, double mean, double std);

 private:
  float uniform_f32();
  double uniform_f64();
  double normal_f64();
  void normal_block(std::span<float, 16> block, float mean, float std);

  std::mt19937 engine_;
  std::optional<double> cached_;  // the second of a pair of normal_f64()
};

}  // namespace mha
