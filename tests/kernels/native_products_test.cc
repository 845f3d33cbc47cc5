// That a product's bits depend on nothing but its own numbers: not on the rows and the
// columns that are computed with it, on where its operands lie or on threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "catch.h"
#include "kernels/native_gemm.h"
#include "kernels/simd.h"
#include "support/one_product.h"
#include "support/padded.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

void fill_normal(std::initializer_list<Padded*> matrices, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (Padded* matrix : matrices) matrix->fill([&] { return normal(random); });
}

bool same_bits(ConstMatrixView<float> a, ConstMatrixView<float> b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    if (std::memcmp(a.row(i), b.row(i), sizeof(float) * a.cols) != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("rows have the same bits alone, in groups and where all share packed panels") {
  const SimdGuard guard;
  const std::size_t rows = GENERATE(239, 240, 241, 250);
  const std::size_t depth = GENERATE(1, 513);
  Padded A(rows, depth, 3);
  Padded B(depth, 71, 5);
  Padded bias(1, 71, 0);
  fill_normal({&A, &B, &bias}, 1);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    Padded whole(rows, 71, 2);
    native_gemm(A.view, B.view, bias.view.data, Epilogue::silu, whole.view);
    CHECK(whole.padding_untouched());
    Padded parts(rows, 71, 2);
    const std::array<std::size_t, 8> few = {1, 2, 3, 4, 5, 12, 13, 37};
    for (std::size_t first = 0, part = 0; first < rows; ++part) {
      const std::size_t count = std::min(few[part % few.size()], rows - first);
      native_gemm(A.view.row_block(first, count), B.view, bias.view.data, Epilogue::silu,
                  parts.view.row_block(first, count));
      first += count;
    }
    CAPTURE(target, rows, depth);
    CHECK(same_bits(whole.view, parts.view));
  }
}

TEST_CASE("weights too deep to be packed at once are packed some panels after others") {
  const SimdGuard guard;
  const std::size_t rows = 241;
  const std::size_t depth = 20000;  // 4 MB hold 52 columns
  Padded A(rows, depth, 1);
  Padded B(depth, 70, 2);
  Padded bias(1, 70, 0);
  fill_normal({&A, &B, &bias}, 2);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    Padded whole(rows, 70, 3);
    native_gemm(A.view, B.view, bias.view.data, Epilogue::relu, whole.view);
    CAPTURE(target);
    CHECK(whole.padding_untouched());
    for (const std::size_t first : {0, 119, 237}) {
      Padded some(4, 70, 3);
      native_gemm(A.view.row_block(first, 4), B.view, bias.view.data, Epilogue::relu,
                  some.view);
      CHECK(same_bits(whole.view.row_block(first, 4), some.view));
    }
  }
}

TEST_CASE("several products at once are what they are one after another") {
  const SimdGuard guard;
  const ThreadsGuard threads_guard;
  const std::size_t rows = GENERATE(1, 4, 30, 240, 250);
  const std::size_t depth = 530;
  Padded A(rows, depth, 1);
  Padded B1(depth, 1, 4);
  Padded B2(depth, 40, 0);
  Padded B3(depth, 7, 2);
  Padded bias(1, 40, 0);
  fill_normal({&A, &B1, &B2, &B3, &bias}, 3);
  const float* shift = bias.view.data;
  // Side by side in C, with columns of nobody in between.
  const auto products_of = [&](MatrixView<float> C) {
    return std::array<Product<float>, 3>{{{B1.view, shift, C.col_block(2, 1)},
                                          {B2.view, nullptr, C.col_block(5, 40)},
                                          {B3.view, shift + 9, C.col_block(50, 7)}}};
  };
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    use_threads(1);
    Padded expected(rows, 60, 1);
    for (const auto& [B, shifts, C] : products_of(expected.view)) {
      native_gemm(A.view, B, shifts, Epilogue::gelu, C);
    }
    for (const std::size_t threads : {1, 2, 3}) {
      use_threads(threads);
      Padded found(rows, 60, 1);
      native_gemm(A.view, products_of(found.view), Epilogue::gelu);
      CAPTURE(target, rows, threads);
      CHECK(same_bits(found.view, expected.view));
      CHECK(found.marks() == found.size() - rows * 48);
    }
  }
}

TEST_CASE("a product without columns, without depth or without rows writes what there is") {
  const SimdGuard guard;
  const std::size_t rows = GENERATE(0, 3, 240, 300);
  Padded A(rows, 5, 1);
  Padded B(5, 9, 1);
  Padded bias(1, 9, 0);
  fill_normal({&A, &B, &bias}, 4);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    Padded C(rows, 9, 1);
    native_gemm(A.view, B.view.col_block(0, 0), nullptr, Epilogue::none,
                C.view.col_block(0, 0));
    CHECK(C.marks() == C.size());
    native_gemm(A.view.col_block(0, 0), B.view.row_block(0, 0), bias.view.data, Epilogue::none,
                C.view);
    bool biases = true;
    for (std::size_t i = 0; i < rows; ++i) {
      biases = biases && same_bits(C.view.row_block(i, 1), bias.view);
    }
    CAPTURE(target, rows);
    CHECK(biases);
    CHECK(C.padding_untouched());
  }
}

}  // namespace mha
