#include "heads/measures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "heads/maps.h"

namespace mha {
namespace {

constexpr std::size_t kNoKey = std::numeric_limits<std::size_t>::max();

HeadMeasures measure(const Tensor<double>& map, std::vector<std::uint8_t> delimiters = {}) {
  MeasureHead head;
  head.rows(0, map.matrix(), {map.shape()[1], 0, delimiters});
  return head.measures();
}

std::string pattern(const Tensor<double>& map, std::vector<std::uint8_t> delimiters = {}) {
  return std::string(name_of(measure(map, std::move(delimiters)).pattern));
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12; }

std::size_t previous_of(std::size_t i) { return i - 1; }  // none before 0
std::size_t next_of(std::size_t i) { return i + 1; }
std::size_t self_of(std::size_t i) { return i; }
std::size_t first_of(std::size_t) { return 0; }
std::size_t nobody_of(std::size_t) { return kNoKey; }

}  // namespace

TEST_CASE("measures of a map are the means that their definitions say") {
  const Tensor<double> map = map_of(3, 3, {.5, .5, 0, .25, .25, .5, 0, 0, 1});
  const HeadMeasures m = measure(map, {0, 0, 1});
  CHECK(m.rows == 3);
  CHECK(m.empty_rows == 0);
  const double entropy = (std::log(2.0) + 1.5 * std::log(2.0)) / 3.0;
  CHECK(near(m.entropy, entropy));
  CHECK(near(m.entropy_share, entropy / std::log(3.0)));
  CHECK(near(m.confidence, (.5 + .5 + 1) / 3));
  CHECK(near(m.self, (.5 + .25 + 1) / 3));
  CHECK(near(m.previous, (.25 + 0) / 2));
  CHECK(near(m.next, (.5 + .5) / 2));
  CHECK(near(m.neighbours, (.5 + .75 + 0) / 3));
  CHECK(near(m.first, (.5 + .25 + 0) / 3));
  CHECK(near(m.delimiter, (0 + .5 + 1) / 3));
  CHECK(near(m.distance, (.5 + .75 + 0) / 3));
  CHECK_FALSE(m.causal);
}

TEST_CASE("maps of a known pattern get its name") {
  const bool causal = GENERATE(false, true);
  const std::size_t n = GENERATE(4, 8, 40);
  const KnownMap known{n, n, 0.8, causal};
  CAPTURE(causal, n);
  CHECK(pattern(map_on(known, previous_of)) == "previous");
  CHECK(pattern(map_on(known, self_of)) == "self");
  CHECK(pattern(map_on(known, first_of)) == "first");
  CHECK(pattern(map_on(known, nobody_of)) == "broad");
  if (!causal) {
    CHECK(pattern(map_on(known, next_of)) == "next");
    std::vector<std::uint8_t> delimiters(n, 0);
    delimiters[n - 1] = delimiters[n / 2] = 1;
    const auto either = [&](std::size_t i) { return i % 2 == 0 ? n - 1 : n / 2; };
    CHECK(pattern(map_on(known, either), delimiters) == "delimiter");
    CHECK(pattern(map_on(known, either)) == "mixed");
  }
}

TEST_CASE("the strength of a pattern is its mean weight") {
  const KnownMap known{8, 8, 0.8};
  const HeadMeasures previous = measure(map_on(known, previous_of));
  CHECK(near(previous.strength, 0.8 + 0.2 / 8));
  CHECK(previous.strength == previous.previous);
  const HeadMeasures broad = measure(map_on(known, nobody_of));
  CHECK(near(broad.strength, 1.0));
  CHECK(near(broad.entropy, std::log(8.0)));
}

TEST_CASE("a name wants half of what is above equal weights") {
  const bool causal = GENERATE(false, true);
  const std::size_t n = GENERATE(4, 40);
  CAPTURE(causal, n);
  CHECK(pattern(map_on({n, n, 0.55, causal}, previous_of)) == "previous");
  CHECK(pattern(map_on({n, n, 0.45, causal}, previous_of)) != "previous");
}

TEST_CASE("both neighbours together are a pattern of their own") {
  Tensor<double> map = Tensor<double>::zeros({8, 8});
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) map.matrix()(i, j) = 0.02;
    const double both = 1.0 - 0.16;
    if (i > 0) map.matrix()(i, i - 1) += i + 1 < 8 ? both / 2 : both;
    if (i + 1 < 8) map.matrix()(i, i + 1) += i > 0 ? both / 2 : both;
  }
  const HeadMeasures m = measure(map);
  CHECK(m.pattern == HeadPattern::neighbours);
  CHECK(m.strength == m.neighbours);
  CHECK(m.neighbours > 0.85);
  CHECK(m.previous < 0.6);
}

TEST_CASE("equal weights on the keys that a causal row sees are broad, whatever the length") {
  // Row 0 has all its weight on itself and on the first key, and row 1 half: it must not
  // count for a pattern.
  for (const std::size_t n : {2, 3, 4, 6, 64}) {
    const Tensor<double> map = map_on({n, n, 0.0, true}, nobody_of);
    const HeadMeasures m = measure(map);
    CAPTURE(n);
    CHECK(m.causal);
    CHECK(m.pattern == HeadPattern::broad);
    CHECK(near(m.entropy_share, 1.0));
  }
}

TEST_CASE("equal weights are broad where most keys are delimiters") {
  CHECK(pattern(map_on({5, 5, 0.0}, nobody_of), {1, 1, 1, 1, 0}) == "broad");
}

TEST_CASE("half of the weight on a few keys is not broad, and no name of another pattern") {
  // Each row lies on two keys that have nothing to do with its place.
  Tensor<double> map = Tensor<double>::zeros({12, 12});
  for (std::size_t i = 0; i < 12; ++i) {
    map.matrix()(i, (i * 5 + 3) % 12) += 0.5;
    map.matrix()(i, (i * 7 + 6) % 12) += 0.5;
  }
  CHECK(pattern(map) == "mixed");
  CHECK(measure(map).strength == measure(map).confidence);
}

TEST_CASE("the largest weight on one offset in nine of ten rows is positional") {
  const auto two_behind = [](std::size_t i) { return i + 2; };
  const HeadMeasures m = measure(map_on({20, 20, 0.3}, two_behind));
  CHECK(m.offset == 2);
  CHECK(m.offset_share == 1.0);  // of the 18 rows that have such a key
  CHECK(m.pattern == HeadPattern::positional);
  CHECK(m.strength == 1.0);
  SECTION("seven of eight are too few") {
    const auto not_all = [](std::size_t i) { return i % 8 == 3 ? i + 5 : i + 2; };
    const HeadMeasures fewer = measure(map_on({34, 34, 0.3}, not_all));
    CHECK(fewer.offset == 2);
    CHECK(near(fewer.offset_share, 28.0 / 32.0));
    CHECK(fewer.pattern == HeadPattern::mixed);
  }
  SECTION("the first key is at another offset from each row") {
    const HeadMeasures first = measure(map_on({20, 20, 0.9}, first_of));
    CHECK(first.offset == 0);
    CHECK(near(first.offset_share, 1.0 / 20.0));
  }
  SECTION("an offset that few rows have is no evidence") {
    const auto three_behind = [](std::size_t i) { return i < 2 ? i + 3 : 0; };
    const HeadMeasures few = measure(map_on({5, 5, 0.4}, three_behind));
    CHECK(few.offset == 3);
    CHECK(few.offset_share == 1.0);  // of two
    CHECK(few.pattern == HeadPattern::mixed);
  }
}

TEST_CASE("rows that see no key are counted and left out") {
  const Tensor<double> map = map_of(3, 3, {0, 1, 0, 0, 0, 0, 0, 1, 0});
  const HeadMeasures m = measure(map);
  CHECK(m.rows == 2);
  CHECK(m.empty_rows == 1);
  CHECK(m.confidence == 1.0);
  CHECK(m.entropy == 0.0);
  CHECK(m.next == 1.0);      // of row 0: row 1 is empty, row 2 has none
  CHECK(m.previous == 1.0);  // of row 2
  const HeadMeasures none = measure(Tensor<double>::zeros({2, 3}));
  CHECK(none.rows == 0);
  CHECK(none.empty_rows == 2);
  CHECK(none.pattern == HeadPattern::mixed);
  CHECK(std::isnan(none.entropy));
  CHECK(std::isnan(none.self));
}

TEST_CASE("one key leaves no choice, and gets no name") {
  const HeadMeasures m = measure(map_of(3, 1, {1, 1, 1}));
  CHECK(m.pattern == HeadPattern::mixed);
  CHECK(std::isnan(m.entropy_share));
  CHECK(std::isnan(m.offset_share));
}

TEST_CASE("queries and keys may differ in number") {
  SECTION("more queries: the last have no place among the keys") {
    const HeadMeasures m = measure(map_on({6, 3, 1.0}, self_of));
    CHECK(m.self == 1.0);  // of the three that have one
    CHECK(m.rows == 6);
  }
  SECTION("a cache: the last query is at the last key") {
    MeasureHead head;
    const Tensor<double> map = map_of(2, 4, {0, .9, .1, 0, 0, 0, .9, .1});
    head.rows(2, map.matrix(), {4});
    const HeadMeasures m = head.measures();
    CHECK(m.causal);
    CHECK(near(m.previous, .9));
    CHECK(near(m.self, .1));
    CHECK(near(m.distance, .9));
    CHECK(m.pattern == HeadPattern::previous);
  }
}

TEST_CASE("columns of padding are no keys, columns of no token have no place") {
  // Three keys, one of padding, a learned one.
  const Tensor<double> map = map_of(3, 5,
                                    {.25, .25, .25, 0, .25, .25, .25, .25, 0, .25,  //
                                     .25, .25, .25, 0, .25});
  MeasureHead head;
  head.rows(0, map.matrix(), {3, 1});
  const HeadMeasures m = head.measures();
  CHECK(near(m.entropy_share, 1.0));
  CHECK(m.pattern == HeadPattern::broad);
  CHECK(near(m.distance, (.75 + .5 + .75) / 3));
  CHECK(near(m.next, .25));
}

TEST_CASE("blocks of rows and several sequences add up") {
  std::mt19937 random(1);
  const Tensor<double> a = random_map(9, 9, random);
  const Tensor<double> b = random_map(5, 7, random);
  const std::vector<std::uint8_t> delimiters = {1, 0, 0, 1};
  const auto measured = [&](std::size_t block) {
    MeasureHead head;
    for (const Tensor<double>* map : {&a, &b}) {
      for (std::size_t first = 0; first < map->shape()[0]; first += block) {
        const std::size_t rows = std::min(block, map->shape()[0] - first);
        head.rows(first, map->matrix().row_block(first, rows),
                  {map->shape()[1], 0, delimiters});
      }
    }
    return head.measures();
  };
  const HeadMeasures whole = measured(100);
  const HeadMeasures small = measured(GENERATE(1, 2, 4));
  CHECK(whole.rows == 14);
  CHECK(small.rows == whole.rows);
  CHECK(near(small.entropy, whole.entropy));
  CHECK(near(small.entropy_share, whole.entropy_share));
  CHECK(small.offset == whole.offset);
  CHECK(small.offset_share == whole.offset_share);
  const HeadMeasures of_a = measure(a, delimiters);
  const HeadMeasures of_b = measure(b, delimiters);
  const auto mean = [&](double HeadMeasures::*of) {
    return (9 * of_a.*of + 5 * of_b.*of) / 14;
  };
  CHECK(near(whole.entropy, mean(&HeadMeasures::entropy)));
  CHECK(near(whole.self, mean(&HeadMeasures::self)));
  CHECK(near(whole.delimiter, mean(&HeadMeasures::delimiter)));
  CHECK(near(whole.distance, mean(&HeadMeasures::distance)));
  CHECK(near(whole.previous, (8 * of_a.previous + 4 * of_b.previous) / 12));
  CHECK(near(whole.next, (8 * of_a.next + 5 * of_b.next) / 13));
}

TEST_CASE("f32 maps are measured in double") {
  const Tensor<double> map = map_on({6, 6, 0.5}, previous_of);
  Tensor<float> single({6, 6});
  for (std::size_t i = 0; i < map.size(); ++i) {
    single.data()[i] = static_cast<float>(map.data()[i]);
  }
  MeasureHead head;
  head.rows(0, ConstMatrixView<float>(single.matrix()), {6});
  CHECK(std::abs(head.measures().entropy - measure(map).entropy) < 1e-6);
}

}  // namespace mha
