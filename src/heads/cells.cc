#include "heads/cells.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/memory.h"
#include "tensor/tensor.h"

namespace mha {
namespace {

constexpr std::size_t kMostLinearKeys = 32;
constexpr float kEvenShare = 0.2F;

std::size_t blocks(std::size_t length, std::size_t size) { return (length + size - 1) / size; }

}  // namespace

Cells cells_of(ConstMatrixView<float> map, CellSize size) {
  Cells cells{blocks(map.rows, size.queries), blocks(map.cols, size.keys), {}};
  cells.weights.assign(cells.rows * cells.cols, Cells::kNoKey);
  for (std::size_t i = 0; i < map.rows; ++i) {
    const float* row = map.row(i);
    if (std::all_of(row, row + map.cols, [](float weight) { return weight == 0.0F; }))
      continue;
    float* to = cells.weights.data() + i / size.queries * cells.cols;
    for (std::size_t j = 0; j < map.cols; ++j) {
      float& cell = to[j / size.keys];
      cell = std::max(cell, row[j]);
    }
  }
  return cells;
}

float WeightScale::share_of(float weight) const {
  return largest == 0.0F ? 0.0F : std::pow(weight / largest, power);
}

float WeightScale::weight_at(float share) const {
  return largest * std::pow(share, 1.0F / power);
}

std::string WeightScale::end_text() const {
  const std::string end = weight_text(largest);
  return power == 1.0F ? end : end + " (middle " + weight_text(weight_at(0.5F)) + ")";
}

CellGrid cells_of(const MapGrid& grid, CellSize size) {
  const std::size_t panels = grid.layers.size() * grid.heads.size();
  const std::size_t of_one = blocks(grid.queries.size(), size.queries) *
                             blocks(grid.keys.size(), size.keys) * sizeof(float);
  require_memory(
      checked_multiply(panels, of_one).value_or(std::numeric_limits<std::size_t>::max()),
      "a picture of " + std::to_string(panels) + " maps");
  CellGrid cells;
  cells.scale.power = scale_power(grid.keys.size());
  for (std::size_t layer = 0; layer < grid.layers.size(); ++layer) {
    for (std::size_t head = 0; head < grid.heads.size(); ++head) {
      const Tensor<float> map = grid.map(layer, head);
      assert((map.shape() == Shape{grid.queries.size(), grid.keys.size()}));
      cells.panels.push_back(cells_of(map.matrix(), size));
      for (const float weight : cells.panels.back().weights) {
        cells.scale.largest = std::max(cells.scale.largest, weight);
      }
    }
  }
  return cells;
}

float scale_power(std::size_t n_keys) {
  if (n_keys <= kMostLinearKeys) return 1.0F;
  return -std::log(kEvenShare) / std::log(static_cast<float>(n_keys));
}

std::string weight_text(float weight) {
  int decimals = 2;
  for (float least = 0.0995F; weight > 0.0F && weight < least && decimals < 5;
       least /= 10.0F) {
    ++decimals;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), weight,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

}  // namespace mha
