#include "heads/distances.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "catch.h"
#include "heads/maps.h"
#include "support/error_of.h"

namespace mha {
namespace {

Tensor<double> distances(const std::vector<Tensor<double>>& maps, std::size_t block = 100) {
  HeadDistances all(maps.size());
  for (std::size_t first = 0; first < maps.front().shape()[0]; first += block) {
    const std::size_t rows = std::min(block, maps.front().shape()[0] - first);
    std::vector<ConstMatrixView<double>> blocks;
    for (const Tensor<double>& map : maps) {
      blocks.push_back(map.matrix().row_block(first, rows));
    }
    all.rows(std::span<const ConstMatrixView<double>>(blocks));
  }
  return all.distances();
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12; }

std::vector<Tensor<double>> random_maps(std::size_t heads, std::size_t n) {
  std::mt19937 random(2);
  std::vector<Tensor<double>> maps;
  for (std::size_t head = 0; head < heads; ++head) maps.push_back(random_map(n, n, random));
  return maps;
}

// By KL, as it is defined.
double js(const double* p, const double* q, std::size_t n) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double m = (p[j] + q[j]) / 2.0;
    if (p[j] > 0.0) sum += p[j] * std::log(p[j] / m) / 2.0;
    if (q[j] > 0.0) sum += q[j] * std::log(q[j] / m) / 2.0;
  }
  return sum;
}

}  // namespace

TEST_CASE("Jensen-Shannon distances of two keys are those of the formula") {
  std::vector<Tensor<double>> maps;
  maps.push_back(map_of(1, 2, {1, 0}));
  maps.push_back(map_of(1, 2, {0, 1}));
  maps.push_back(map_of(1, 2, {.5, .5}));
  const Tensor<double> d = distances(maps);
  const double ln2 = std::numbers::ln2;
  CHECK(near(d.matrix()(0, 1), ln2));  // nothing in common
  // m = (3/4, 1/4): H(m) - ln 2 / 2
  const double half = -.75 * std::log(.75) - .25 * std::log(.25) - ln2 / 2;
  CHECK(near(d.matrix()(0, 2), half));
  CHECK(near(d.matrix()(1, 2), half));
  CHECK(d.matrix()(2, 0) == d.matrix()(0, 2));
  CHECK(d.matrix()(1, 1) == 0.0);
}

TEST_CASE("distances are means over rows, whatever the blocks and the threads") {
  const std::vector<Tensor<double>> maps = random_maps(7, 20);
  const Tensor<double> whole = distances(maps);
  for (std::size_t a = 0; a < 7; ++a) {
    for (std::size_t b = 0; b < 7; ++b) {
      double sum = 0.0;
      for (std::size_t i = 0; i < 20; ++i) {
        sum += js(maps[a].matrix().row(i), maps[b].matrix().row(i), 20);
      }
      CHECK(near(whole.matrix()(a, b), sum / 20));
    }
  }
  use_threads(GENERATE(1, 3));
  CHECK(std::ranges::equal(distances(maps, 6).values(), whole.values()));
  use_threads(1);
}

TEST_CASE("much work is split over threads without a gap") {
  const std::vector<Tensor<double>> maps = random_maps(20, 64);
  const Tensor<double> alone = distances(maps);
  use_threads(3);
  const Tensor<double> together = distances(maps);
  use_threads(1);
  CHECK(std::ranges::equal(together.values(), alone.values()));
}

TEST_CASE("rows that one of two heads does not see compare nothing") {
  std::vector<Tensor<double>> maps;
  maps.push_back(map_of(2, 2, {1, 0, 0, 0}));
  maps.push_back(map_of(2, 2, {1, 0, 0, 1}));
  maps.push_back(map_of(2, 2, {0, 0, 1, 0}));
  const Tensor<double> d = distances(maps);
  CHECK(d.matrix()(0, 1) == 0.0);  // row 0 alone
  CHECK(near(d.matrix()(1, 2), std::numbers::ln2));
  CHECK(std::isnan(d.matrix()(0, 2)));
  CHECK(nearest_head(d.matrix(), 0) == 1);
  CHECK(nearest_head(d.matrix(), 2) == 1);
}

TEST_CASE("more pairs than memory holds are refused before they take it") {
  CHECK(fails_with(Fault::system, [] { HeadDistances all(std::size_t{1} << 30); }));
}

TEST_CASE("a head alone has no nearest other") {
  std::vector<Tensor<double>> maps;
  maps.push_back(map_of(1, 2, {1, 0}));
  const Tensor<double> d = distances(maps);
  CHECK(nearest_head(d.matrix(), 0) == 0);
  CHECK(groups_of_like(d.matrix(), 0.1) == std::vector<std::size_t>{0});
}

TEST_CASE("no two heads of a group are further apart than allowed") {
  // On a line at 0, 10, 1, 2.2, 11.
  const std::vector<double> at = {0, 10, 1, 2.2, 11};
  Tensor<double> d({5, 5});
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) d.matrix()(i, j) = std::abs(at[i] - at[j]);
  }
  // 2.2 is near 1, but not near 0.
  CHECK(groups_of_like(d.matrix(), 1.5) == std::vector<std::size_t>{0, 1, 0, 2, 1});
  CHECK(groups_of_like(d.matrix(), 2.5) == std::vector<std::size_t>{0, 1, 0, 0, 1});
  CHECK(groups_of_like(d.matrix(), 0.5) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(groups_of_like(d.matrix(), 100) == std::vector<std::size_t>{0, 0, 0, 0, 0});
  SECTION("a distance that is none keeps heads apart") {
    for (const std::size_t other : {0, 3}) {
      d.matrix()(2, other) = d.matrix()(other, 2) = std::nan("");
    }
    CHECK(groups_of_like(d.matrix(), 2.5) == std::vector<std::size_t>{0, 1, 2, 0, 1});
  }
}

}  // namespace mha
