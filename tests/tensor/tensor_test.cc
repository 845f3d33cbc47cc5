#include "tensor/tensor.h"

#include <cstdint>

#include "base/error.h"
#include "catch.h"

using namespace mha;

TEST_CASE("matrices of a tensor are its last two axes, row-major") {
  Tensor<float> tensor({2, 3, 4, 5});
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<float>(i);
  REQUIRE(tensor.matrix_count() == 6);
  const auto matrix = tensor.matrix(4);  // [1, 1]
  CHECK(matrix.rows == 4);
  CHECK(matrix.cols == 5);
  CHECK(matrix(2, 3) == 4 * 20 + 2 * 5 + 3);
  CHECK(matrix.row_block(1, 2)(0, 0) == matrix(1, 0));
  CHECK(matrix.col_block(2, 2)(3, 1) == matrix(3, 3));
}

TEST_CASE("shapes whose product overflows are refused") {
  CHECK_THROWS_AS(Tensor<float>({SIZE_MAX, 2}), Error);
  CHECK_THROWS_AS(Tensor<double>({SIZE_MAX / 4}), Error);
  CHECK_THROWS_AS(Tensor<float>({2, 3}).reshape({7}), Error);
}

TEST_CASE("empty and scalar tensors") {
  CHECK(Tensor<float>().empty());
  CHECK(Tensor<float>({0, 4}).empty());
  CHECK(Tensor<float>(Shape{}).size() == 1);
  CHECK(to_string({2, 4, 8}) == "[2, 4, 8]");
  CHECK(to_string({}) == "[]");
  CHECK(index_of(5, {2, 4}) == Shape{1, 1});
}
