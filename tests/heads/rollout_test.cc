#include "heads/rollout.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "heads/maps.h"

namespace mha {
namespace {

bool near(const Tensor<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(got.data()[i] - expected[i]) > 1e-12) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("rollout is the product of half maps and half identities") {
  Tensor<double> rollout = no_rollout(2);
  CHECK(near(rollout, {1, 0, 0, 1}));
  // A_1 = [[3/4, 1/4], [1/2, 1/2]]
  roll_out(map_of(2, 2, {.5, .5, 1, 0}).matrix(), rollout);
  CHECK(near(rollout, {.75, .25, .5, .5}));
  // A_2 = [[1/2, 1/2], [0, 1]]; A_2 A_1, not A_1 A_2
  roll_out(map_of(2, 2, {0, 1, 0, 1}).matrix(), rollout);
  CHECK(near(rollout, {.625, .375, .5, .5}));
}

TEST_CASE("a query that sees no key keeps what it has in a rollout") {
  Tensor<double> rollout = no_rollout(2);
  roll_out(map_of(2, 2, {0, 0, .5, .5}).matrix(), rollout);
  CHECK(near(rollout, {1, 0, .25, .75}));
}

}  // namespace mha
