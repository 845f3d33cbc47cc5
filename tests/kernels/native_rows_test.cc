// Exponentials and the search for what is not finite, of every SIMD target.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "kernels/attend.h"
#include "kernels/simd.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

using Limits = std::numeric_limits<float>;
constexpr float kInfinity = Limits::infinity();
constexpr float kNan = Limits::quiet_NaN();
constexpr float kLeast = -87.33654F;  // whose exponential is the smallest normal number

}  // namespace

TEST_CASE("exponentials are within two units over all floats from 0 down, then exactly 0") {
  const SimdGuard guard;
  std::vector<float> x;
  // Floats below zero are in the order of their bits, tiny ones first.
  const auto first = std::bit_cast<std::uint32_t>(-0.0F);
  const auto last = std::bit_cast<std::uint32_t>(kLeast);
  for (std::uint32_t bits = first; bits < last; bits += 1009) {
    x.push_back(std::bit_cast<float>(bits));
  }
  // Around each half of a logarithm of 2, where the exponent turns over.
  for (int half = 1; half < 252; ++half) {
    auto at = static_cast<float>(-half * 0.34657359027997264);
    at = std::nextafter(std::nextafter(at, 0.0F), 0.0F);
    for (int i = 0; i < 5; ++i, at = std::nextafter(at, -kInfinity)) x.push_back(at);
  }
  x.push_back(kLeast);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    std::vector<float> found = x;
    exp_negative(found);
    double worst = 0.0;
    float where = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(static_cast<double>(x[i]));
      const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
      const double wrong = std::abs(static_cast<double>(found[i]) - want) / unit;
      if (!(wrong <= worst)) {
        worst = wrong;
        where = x[i];
      }
    }
    CAPTURE(target, where);
    CHECK(worst <= 1.5);
    CHECK(found.back() >= Limits::min());
    std::vector<float> gone = {std::nextafter(kLeast, -kInfinity),
                               -88.0F,
                               -127.0F,
                               -1e9F,
                               -Limits::max(),
                               -kInfinity};
    exp_negative(gone);
    CHECK(gone == std::vector<float>(gone.size(), 0.0F));
  }
}

TEST_CASE("an exponential of NaN is NaN in every lane, and its neighbours are numbers") {
  const SimdGuard guard;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    for (std::size_t place = 0; place < 37; ++place) {
      std::vector<float> x(37, 0.0F);
      x[place] = kNan;
      exp_negative(x);
      CAPTURE(target, place);
      CHECK(std::isnan(x[place]));
      x[place] = 1.0F;
      CHECK(x == std::vector<float>(37, 1.0F));
    }
  }
}

TEST_CASE("what is not finite is found at every place of a row, and the largest are finite") {
  const SimdGuard guard;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    std::size_t missed = 0;
    std::size_t invented = 0;
    for (std::size_t n = 1; n <= 70; ++n) {
      // Three rows of huge numbers of both signs, Inf and NaN behind each.
      std::vector<float> values(3 * (n + 2), kNan);
      const MatrixView<float> matrix(values.data(), 3, n, n + 2);
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          matrix(i, j) = j % 2 == 0 ? Limits::max() : -Limits::max();
        }
        matrix.row(i)[n] = kInfinity;
      }
      invented += all_finite<float>(matrix) ? 0 : 1;
      for (const float bad : {kInfinity, -kInfinity, kNan}) {
        for (std::size_t place = 0; place < 3 * n; ++place) {
          float& value = matrix(place / n, place % n);
          const float good = value;
          value = bad;
          missed += all_finite<float>(matrix) ? 1 : 0;
          value = good;
        }
      }
    }
    CAPTURE(target);
    CHECK(missed == 0);
    CHECK(invented == 0);
  }
}

}  // namespace mha
