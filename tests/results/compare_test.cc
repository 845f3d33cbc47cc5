#include "results/compare.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "files/crafted.h"
#include "files/member_view.h"
#include "results/feed.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
Verdict verdict_of(std::initializer_list<double> got, std::initializer_list<double> expected,
                   const Tolerance& tolerance = {}) {
  const Shape shape{1, got.size()};
  Compare<T> compare("y", tensor_of<T>(shape, expected), 1, tolerance);
  feed(compare, tensor_of<T>(shape, got), 1, 1);
  return compare.verdict();
}

}  // namespace

TEST_CASE("values within atol + rtol |expected| are equal, as in numpy.allclose") {
  const Tolerance tolerance{0.5, 0.25};
  CHECK(verdict_of<double>({2.5, -2.5}, {1.6, -1.6}, tolerance).equal());  // 0.9 <= 0.9
  CHECK_FALSE(verdict_of<double>({2.5}, {1.5}, tolerance).equal());        // 1.0 > 0.875
  // The tolerance follows the expected value, not the other one.
  CHECK(verdict_of<double>({1.5}, {2.75}, {0, 0.5}).equal());
  CHECK_FALSE(verdict_of<double>({2.75}, {1.5}, {0, 0.5}).equal());
  CHECK(verdict_of<double>({1.0}, {1.0}, {0, 0}).equal());
}

TEST_CASE("infinities of one sign are equal, NaN equals nothing") {
  CHECK(verdict_of<float>({kInf, -kInf}, {kInf, -kInf}).equal());
  CHECK_FALSE(verdict_of<float>({kInf}, {-kInf}).equal());
  CHECK_FALSE(verdict_of<float>({1e30}, {kInf}).equal());  // rtol |inf| is no licence
  CHECK_FALSE(verdict_of<float>({kInf}, {1e30}).equal());
  CHECK_FALSE(verdict_of<float>({kNaN}, {kNaN}).equal());
  CHECK_FALSE(verdict_of<float>({kNaN}, {1}).equal());
  CHECK_FALSE(verdict_of<float>({1}, {kNaN}).equal());
}

TEST_CASE("the first NaN is the worst difference, wherever it stands") {
  const Verdict verdict = verdict_of<float>({kInf, kNaN, 5, kNaN}, {0.5, 1, 1, 0.5});
  REQUIRE(verdict.absolute);
  CHECK(verdict.absolute->at == 1);
  CHECK(std::isnan(verdict.absolute->difference));
  CHECK(verdict.out == 4);
  CHECK(verdict.first_out->at == 0);
}

TEST_CASE("the largest differences are found with their places") {
  const std::size_t block_rows = GENERATE(1, 2, 4);
  Tensor<float> got = counted<float>({2, 2, 4, 3});
  got.data()[40] += 3.0F;   // item 1, head 1, row 1
  got.data()[1] += 1.0F;    // relative 1
  got.data()[30] += 0.25F;  // out as well
  got.data()[47] += 1e-5F;  // nothing: 47 has no float that near
  Compare<float> compare("maps", counted<float>({2, 2, 4, 3}), 2, {});
  feed(compare, got, 2, block_rows, 1);

  const Verdict& verdict = compare.verdict();
  CHECK(verdict.count == 48);
  CHECK(verdict.out == 3);
  CHECK(verdict.absolute->at == 40);
  CHECK(verdict.absolute->difference == 3.0);
  CHECK(verdict.absolute->got == 43.0);
  CHECK(verdict.absolute->expected == 40.0);
  CHECK(verdict.relative->at == 1);
  CHECK(verdict.relative->difference == 1.0);
  CHECK(verdict.first_out->at == 1);
}

TEST_CASE("the first element out of tolerance is the first in the tensor, not in time") {
  // Head 0 of the second row range comes after head 1 of the first.
  Tensor<float> got = counted<float>({2, 2, 1});
  got.data()[1] += 1.0F;
  got.data()[2] += 1.0F;
  Compare<float> compare("maps", counted<float>({2, 2, 1}), 2, {});
  feed(compare, got, 2, 1);
  CHECK(compare.verdict().first_out->at == 1);
}

TEST_CASE("an expected zero has no relative difference") {
  const Verdict verdict = verdict_of<float>({1, 3}, {0, 2});
  CHECK(verdict.relative->at == 1);
  CHECK(verdict.relative->difference == 0.5);
  CHECK_FALSE(verdict_of<float>({1}, {0}).relative);
}

TEST_CASE("a verdict reads as a report") {
  Tensor<float> got = counted<float>({1, 4, 8});
  got.data()[21] = 21.0121F;
  got.data()[8] = 12.0F;
  Compare<float> compare("y", counted<float>({1, 4, 8}), 1, {});
  feed(compare, got, 1, 4);
  CHECK(describe(compare.verdict(), {}) ==
        "y: 2 of 32 differ (atol 1e-05, rtol 0.0001)\n"
        "  largest absolute difference 4 at [0, 1, 0]: got 12, expected 8\n"
        "  largest relative difference 0.5 at [0, 1, 0]: got 12, expected 8\n"
        "  first out of tolerance at [0, 1, 0]: got 12, expected 8\n");
}

TEST_CASE("numbers are printed with all digits that tell them apart, and no more") {
  CHECK(describe(verdict_of<float>({0.1}, {0.1 + 3e-8}), {}) ==
        "y: equal within atol 1e-05, rtol 0.0001 "
        "(largest absolute difference 2.98e-08 at [0, 0]: got 0.1, expected 0.10000003)\n");
  CHECK(describe(verdict_of<double>({0.1}, {0.1 + 1e-15}), {}) ==
        "y: equal within atol 1e-05, rtol 0.0001 "
        "(largest absolute difference 9.99e-16 at [0, 0]: got 0.1, expected "
        "0.100000000000001)\n");
}

TEST_CASE("a single element differs, and equal bits leave no difference to show") {
  CHECK(describe(verdict_of<float>({kNaN, 1}, {0, 1}), {}) ==
        "y: 1 of 2 differs (atol 1e-05, rtol 0.0001)\n"
        "  largest absolute difference nan at [0, 0]: got nan, expected 0\n"
        "  first out of tolerance at [0, 0]: got nan, expected 0\n");
  CHECK(describe(verdict_of<float>({1}, {kInf}), {})
            .find("largest relative difference nan at") != std::string::npos);
  CHECK(describe(verdict_of<float>({1}, {1}), {}) ==
        "y: equal within atol 1e-05, rtol 0.0001 (no difference at all)\n");
}

TEST_CASE("another shape is refused with both shapes") {
  ExpectedValues<float> expected = counted<float>({4, 7});
  CHECK(error_of([&] {
          require_shape(expected, {4, 8}, false, "y.npy", "y");
        }) == "y.npy: y is [4, 8], expected values are [4, 7]");
  // As many elements, but other axes.
  ExpectedValues<float> turned = counted<float>({8, 4});
  CHECK(error_of([&] {
          require_shape(turned, {4, 8}, true, "y.txt", "y");
        }) == "y.txt: y is [4, 8], expected values are [8, 4]");
}

TEST_CASE("values from text take the result's leading axes, other files do not") {
  ExpectedValues<float> blocks = counted<float>({6, 4, 3});
  CHECK_THROWS_AS(require_shape(blocks, {2, 3, 4, 3}, false, "maps.npy", "maps"), Error);
  require_shape(blocks, {2, 3, 4, 3}, true, "maps.txt", "maps");
  CHECK(blocks.shape() == Shape{2, 3, 4, 3});

  ExpectedValues<float> one = counted<float>({4, 3});
  require_shape(one, {1, 4, 3}, true, "y.txt", "y");
  CHECK(one.shape() == Shape{1, 4, 3});
  CHECK_THROWS_AS(require_shape(one, {2, 4, 3}, true, "y.txt", "y"), Error);
  CHECK_THROWS_AS(require_shape(one, {12}, true, "y.txt", "y"), Error);
}

TEST_CASE("expected values are read from their file a row at a time, in whatever form") {
  const TempFolder folder;
  const Tensor<double> values = counted<double>({2, 3, 4});
  for (const bool column_major : {false, true}) {
    std::vector<double> stored(values.values().begin(), values.values().end());
    if (column_major) {
      for (std::size_t i = 0; i < stored.size(); ++i) {
        stored[i] = values.data()[(i % 2) * 12 + (i / 2 % 3) * 4 + i / 6];
      }
    }
    const Archive archive = open_archive(
        folder.write("y.npy", make_npy("<f8", column_major, "(2, 3, 4)", bytes_of(stored))));
    Compare<float> compare("y", ExpectedValues<float>(archive, archive.at("")), 1, {});
    Tensor<float> got = counted<float>({2, 3, 4});
    got.data()[17] += 1;
    feed(compare, got, 1, 2);
    CHECK(compare.verdict().count == 24);
    CHECK(compare.verdict().out == 1);
    CHECK(compare.verdict().first_out->at == 17);
  }
}

TEST_CASE("a slice of a tensor is compared from its own first element on") {
  Archive archive;
  Member all;
  all.dtype = DType::f64;
  all.shape = {3, 2};
  all.fetch = [bytes = Bytes::own(bytes_of<double>({9, 9, 1, 2, 3, 4}))] { return bytes; };
  const Member rows = slice(all, 0, 1, 2);
  for (const bool transposed : {false, true}) {
    const Member expected = transposed ? permute(rows, {1, 0}) : rows;
    Compare<float> compare("y", ExpectedValues<float>(archive, expected), 1, {});
    feed(compare,
         transposed ? tensor_of<float>({1, 2, 2}, {1, 3, 2, 4})
                    : tensor_of<float>({1, 2, 2}, {1, 2, 3, 4}),
         1, 1);
    CHECK(compare.verdict().count == 4);
    CHECK(compare.verdict().equal());
  }
}

TEST_CASE("the first step that differs is named with those that agree before it") {
  Verdict good;
  Verdict bad;
  bad.out = 1;
  const auto named = [](Verdict verdict, const char* name) {
    verdict.name = name;
    return verdict;
  };
  CHECK(describe_first({named(good, "x"), named(good, "q")}) == "all 2 steps agree\n");
  CHECK(describe_first({named(good, "q")}) == "q agrees\n");
  CHECK(describe_first(
            {named(good, "x"), named(good, "q"), named(bad, "scores"), named(bad, "maps")}) ==
        "the first step that differs is scores; before it agree x, q\n");
  CHECK(describe_first({named(bad, "x"), named(good, "q")}) ==
        "the first step that differs is x\n");
}
