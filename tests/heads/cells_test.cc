#include "heads/cells.h"

#include <cmath>

#include "catch.h"
#include "heads/grid.h"

using namespace mha;

namespace {

Cells cells_of(const Rows& rows, CellSize size) {
  const Tensor<float> map = grid_of({rows}).map(0, 0);
  return cells_of(map.matrix(), size);
}

}  // namespace

TEST_CASE("a cell is the largest weight of its block, also of a cut one") {
  const Cells cells = cells_of(
      Rows{{.1F, .2F, .7F, 0, 0}, {.3F, .1F, 0, .6F, 0}, {0, 0, .5F, 0, .5F}}, {2, 2});
  CHECK(cells.rows == 2);
  CHECK(cells.cols == 3);
  CHECK(cells.weights == std::vector<float>{.3F, .7F, 0, 0, .5F, .5F});
}

TEST_CASE("queries and keys are put together by themselves") {
  const Cells cells = cells_of(Rows{{.1F, .9F, 0}, {.4F, 0, .6F}}, {1, 3});
  CHECK(cells.weights == std::vector<float>{.9F, .6F});
}

TEST_CASE("the row of a query that sees no key is none of zeros") {
  const Cells cells = cells_of(Rows{{0, 0}, {0, 1}}, {1, 1});
  CHECK(cells.weights == std::vector<float>{Cells::kNoKey, Cells::kNoKey, 0, 1});
  CHECK(cells_of(Rows{{0, 0}, {0, 1}}, {2, 1}).weights == std::vector<float>{0, 1});
}

TEST_CASE("a grid's maps share one scale") {
  const CellGrid grid = cells_of(grid_of({Rows{{.5F, .5F}}, Rows{{.2F, .8F}}}), {1, 1});
  REQUIRE(grid.panels.size() == 2);
  CHECK(grid.panels[1].weights == std::vector<float>{.2F, .8F});
  CHECK(grid.scale.largest == .8F);
  CHECK(grid.scale.end_text() == "0.80");
  CHECK(grid.scale.share_of(.4F) == .5F);
  CHECK(grid.scale.weight_at(.5F) == .4F);
}

TEST_CASE("where a row has many keys an even one has a fifth of the scale") {
  CHECK(cells_of(diagonal(32), {1, 1}).scale.power == 1.0F);
  for (const std::size_t n : {33, 512}) {
    const WeightScale scale = cells_of(diagonal(n), {1, 1}).scale;
    CHECK(std::abs(scale.share_of(1.0F / static_cast<float>(n)) - 0.2F) < 1e-5F);
    CHECK(std::abs(scale.weight_at(0.2F) - 1.0F / static_cast<float>(n)) < 1e-6F);
    CHECK(scale.share_of(0.0F) == 0.0F);
    CHECK(scale.share_of(1.0F) == 1.0F);
  }
  CHECK(cells_of(diagonal(512), {1, 1}).scale.end_text() == "1.00 (middle 0.068)");
}

TEST_CASE("a scale without any weight divides by nothing") {
  CHECK(WeightScale{}.share_of(0.0F) == 0.0F);
}

TEST_CASE("a weight is written with two digits that count") {
  CHECK(weight_text(1.0F) == "1.00");
  CHECK(weight_text(0.876F) == "0.88");
  CHECK(weight_text(0.1F) == "0.10");
  CHECK(weight_text(0.0876F) == "0.088");
  CHECK(weight_text(0.00123F) == "0.0012");
  CHECK(weight_text(0.0F) == "0.00");
  CHECK(weight_text(0.0000345F) == "0.00003");
  CHECK(weight_text(1e-30F) == "0.00000");
}
