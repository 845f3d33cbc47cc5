// Entropies of every SIMD target against logarithms in double.
#include "kernels/entropy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "kernels/simd.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

double plainly(const std::vector<float>& p, const std::vector<float>& q) {
  double sum = 0.0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double m = (static_cast<double>(p[j]) + static_cast<double>(q[j])) / 2.0;
    if (m > 0.0) sum -= m * std::log(m);
  }
  return sum;
}

}  // namespace

TEST_CASE("entropies of rows of any length are those of logarithms in double") {
  const SimdGuard guard;
  std::mt19937 random(1);
  std::exponential_distribution<float> draw;
  for (std::size_t n = 1; n < 140; ++n) {
    std::vector<float> p(n), q(n);
    float p_sum = 0.0F;
    float q_sum = 0.0F;
    for (std::size_t j = 0; j < n; ++j) {
      p_sum += p[j] = std::pow(draw(random), 4.0F);
      q_sum += q[j] = j % 3 == 0 ? 0.0F : draw(random);
    }
    for (float& x : p) x /= p_sum;
    for (float& x : q) x /= q_sum > 0.0F ? q_sum : 1.0F;
    for (const std::string& target : simd_targets()) {
      use_simd_target(target);
      CAPTURE(target, n);
      CHECK(std::abs(entropy_of_mean(p.data(), q.data(), n) - plainly(p, q)) < 1e-6);
      CHECK(std::abs(entropy_of(p.data(), n) - plainly(p, p)) < 1e-6);
    }
  }
}

TEST_CASE("weights of nothing and of everything have no entropy") {
  const SimdGuard guard;
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    CAPTURE(target);
    for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
      std::vector<float> row(n, 0.0F);
      CHECK(entropy_of(row.data(), n) == 0.0);
      row[n / 2] = 1.0F;
      CHECK(entropy_of(row.data(), n) == 0.0);
      row.assign(n, tiny);
      CHECK(entropy_of(row.data(), n) == 0.0);
    }
  }
}

TEST_CASE("each weight has its part of an entropy, over all sizes") {
  const SimdGuard guard;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    double worst = 0.0;
    for (float x = 1.0F; x > 1e-37F; x *= 0.9993F) {
      const auto exact = static_cast<double>(x);
      const double wrong = std::abs(entropy_of(&x, 1) + exact * std::log(exact));
      worst = std::max(worst, wrong);
    }
    CAPTURE(target);
    CHECK(worst < 1e-7);
  }
}

}  // namespace mha
