#include "kernels/fused_attend.h"

#include "kernels/simd_table.h"

namespace mha {
namespace {

std::size_t padded_to_panel(std::size_t n) {
  const std::size_t panel = simd().panel;
  return (n + panel - 1) / panel * panel;
}

}  // namespace

std::size_t packed_keys_size(std::size_t n_keys, std::size_t d_head) noexcept {
  return padded_to_panel(n_keys) * d_head;
}
std::size_t packed_values_size(std::size_t n_keys, std::size_t d_v) noexcept {
  return n_keys * padded_to_panel(d_v);
}
void pack_keys(ConstMatrixView<float> k, float* packed) noexcept {
  simd().pack_keys(k, packed);
}
void pack_values(ConstMatrixView<float> v, float* packed) noexcept {
  simd().pack_values(v, packed);
}

std::size_t attend_rows(const AttendBlock& block, float* scratch) noexcept {
  return simd().attend_rows(block, scratch);
}
std::size_t attend_scratch(std::size_t rows, std::size_t d_v, std::size_t n_keys) noexcept {
  // Scores of a tile's rows; of each row what it has come to, in whole panels, its sums, its
  // largest score so far and the largest of each block of keys.
  return 12 * (kKeyBlock + kLargestPanel) +
         rows * (d_v + kLargestPanel + kLargestPanel / 2 + 1 + n_keys / kKeyBlock + 1);
}

}  // namespace mha
