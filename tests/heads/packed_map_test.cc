#include "heads/packed_map.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "support/unpacked.h"
#include "tensor/tensor.h"

using namespace mha;

namespace {

// The weights as a page reads them.
std::vector<double> weights_of(const PackedMap& packed, WeightBits bits, std::size_t rows,
                               std::size_t cols) {
  const std::string bytes = unpacked(packed.text);
  const std::size_t width = bits == WeightBits::sixteen ? 2 : 1;
  REQUIRE(bytes.size() == rows * sizeof(float) + rows * cols * width);
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows * cols; ++i) {
    float unit = 0.0F;
    std::uint16_t count = 0;
    std::memcpy(&unit, bytes.data() + i / cols * sizeof(float), sizeof(float));
    std::memcpy(&count, bytes.data() + rows * sizeof(float) + i * width, width);
    weights.push_back(static_cast<double>(unit) * count);
  }
  return weights;
}

// Rows of a softmax: `sharpness` 0 gives an even one.
Tensor<float> softmax_map(std::size_t rows, std::size_t cols, double sharpness) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  Tensor<float> map({rows, cols});
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> terms;
    double sum = 0.0;
    for (std::size_t j = 0; j < cols; ++j) {
      terms.push_back(std::exp(sharpness * normal(generator)));
      sum += terms.back();
    }
    for (std::size_t j = 0; j < cols; ++j) {
      map.data()[i * cols + j] = static_cast<float>(terms[j] / sum);
    }
  }
  return map;
}

std::string four_decimals(double weight) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4f", weight);
  return text.data();
}

// Whether all of them read back to the very four decimals.
bool same_decimals(const Tensor<float>& map) {
  const std::size_t rows = map.shape()[0];
  const std::size_t cols = map.shape()[1];
  const auto weights = weights_of(packed_map(map.matrix(), WeightBits::sixteen),
                                  WeightBits::sixteen, rows, cols);
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (four_decimals(weights[i]) != four_decimals(static_cast<double>(map.data()[i]))) {
      UNSCOPED_INFO(weights[i] << " for " << map.data()[i]);
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("with sixteen bits four decimals are those of the weight") {
  const double sharpness = GENERATE(0.0, 0.5, 2.0, 8.0);
  const std::size_t cols = GENERATE(1, 3, 64, 700);
  CHECK(same_decimals(softmax_map(40, cols, sharpness)));
}

TEST_CASE("so are those on the border between two decimals, which go to the even one") {
  // 1/32 = 0.03125, 3/32 = 0.09375
  Tensor<float> map({1, 16});
  for (std::size_t j = 0; j < 16; ++j) map.data()[j] = static_cast<float>(2 * j + 1) / 32.0F;
  CHECK(same_decimals(map));
}

TEST_CASE("small weights keep their differences") {
  const Tensor<float> map = softmax_map(4, 4000, 0.5);
  const PackedMap packed = packed_map(map.matrix(), WeightBits::sixteen);
  CHECK(packed.largest < 0.01);
  CHECK(packed.largest_error < 1e-7);
}

TEST_CASE("the largest error is what weights read back are away") {
  const WeightBits bits = GENERATE(WeightBits::sixteen, WeightBits::eight);
  const Tensor<float> map = softmax_map(20, 30, 2.0);
  const PackedMap packed = packed_map(map.matrix(), bits);
  const auto weights = weights_of(packed, bits, 20, 30);
  double largest_error = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto weight = static_cast<double>(map.data()[i]);
    largest = std::max(largest, weight);
    largest_error = std::max(largest_error, std::abs(weights[i] - weight));
  }
  CHECK(packed.largest == largest);
  CHECK(packed.largest_error == largest_error);
  CHECK(largest_error < (bits == WeightBits::eight ? 1.0 / 509 : 1.01e-5));
  CHECK(largest_error > 0.0);
}

TEST_CASE("a query that sees no key keeps its zeros, one key its 1") {
  const WeightBits bits = GENERATE(WeightBits::sixteen, WeightBits::eight);
  Tensor<float> map = Tensor<float>::zeros({2, 3});
  map.data()[4] = 1.0F;
  const PackedMap packed = packed_map(map.matrix(), bits);
  const auto weights = weights_of(packed, bits, 2, 3);
  CHECK(std::vector<double>(weights.begin(), weights.begin() + 3) ==
        std::vector<double>{0, 0, 0});
  CHECK(std::abs(weights[4] - 1.0) < 1e-6);
  CHECK(weights[3] == 0.0);
}
