#include "heads/packed_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "files/packed_text.h"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers go into the page as they lie in memory");

// Units in 1e-4. Odd, so that where four decimals round up or down lies between two counts;
// 1 more than a multiple of 4, so that a weight on that very border goes to the even decimal,
// as printf has it, when its count goes to the even one.
double steps_of_sixteen(double largest) {
  const double most = 65535.0 / (1e4 * largest);
  return std::clamp(4.0 * std::floor((most - 1.0) / 4.0) + 1.0, 1.0, 65533.0);
}

template <typename Count>
PackedMap packed_as(ConstMatrixView<float> map) {
  constexpr double kMost = static_cast<Count>(-1);
  std::vector<float> units;
  std::vector<Count> counts;
  counts.reserve(map.rows * map.cols);
  PackedMap packed;
  for (std::size_t i = 0; i < map.rows; ++i) {
    const std::span<const float> row(map.row(i), map.cols);
    const auto largest = static_cast<double>(*std::ranges::max_element(row));
    packed.largest = std::max(packed.largest, largest);
    double units_in_one = 1.0;
    if (largest > 0.0) {
      units_in_one = sizeof(Count) == 2 ? 1e4 * steps_of_sixteen(largest) : kMost / largest;
    }
    const auto unit = static_cast<float>(1.0 / units_in_one);
    units.push_back(unit);
    for (const float weight : row) {
      const double count = std::nearbyint(static_cast<double>(weight) * units_in_one);
      counts.push_back(static_cast<Count>(std::clamp(count, 0.0, kMost)));
      packed.largest_error = std::max(
          packed.largest_error,
          std::abs(counts.back() * static_cast<double>(unit) - static_cast<double>(weight)));
    }
  }
  std::vector<std::byte> bytes(units.size() * sizeof(float) + counts.size() * sizeof(Count));
  std::memcpy(bytes.data(), units.data(), units.size() * sizeof(float));
  std::memcpy(bytes.data() + units.size() * sizeof(float), counts.data(),
              counts.size() * sizeof(Count));
  packed.text = packed_text(bytes);
  return packed;
}

}  // namespace

PackedMap packed_map(ConstMatrixView<float> map, WeightBits bits) {
  return bits == WeightBits::sixteen ? packed_as<std::uint16_t>(map)
                                     : packed_as<std::uint8_t>(map);
}

}  // namespace mha
