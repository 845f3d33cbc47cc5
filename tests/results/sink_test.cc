#include "results/sink.h"

#include "base/error.h"
#include "catch.h"
#include "layer/attention.h"
#include "results/feed.h"
#include "support/error_of.h"

using namespace mha;

TEMPLATE_TEST_CASE("a step is collected whole, whatever its blocks", "", float, double) {
  const std::size_t block_rows = GENERATE(1, 2, 5, 7);
  const std::size_t padding = GENERATE(0, 3);
  const Tensor<TestType> tensor = counted<TestType>({2, 3, 5, 4});
  Collect<TestType> collect(tensor.shape(), 3, "maps");
  feed(collect, tensor, 3, block_rows, padding);
  CHECK(same(collect.tensor(), tensor));
}

TEST_CASE("a step without heads is collected with and without a batch axis") {
  const Tensor<float> batch = counted<float>({2, 3, 4});
  Collect<float> items(batch.shape(), 1, "y");
  feed(items, batch, 1, 2);
  CHECK(same(items.tensor(), batch));

  const Tensor<float> one = counted<float>({3, 4});
  Collect<float> item(one.shape(), 1, "y");
  feed(item, one, 1, 2);
  CHECK(same(item.tensor(), one));
}

TEST_CASE("what cannot be collected says how much memory it needs") {
  const auto collect = [] { Collect<float>({8, 1000000, 1000000}, 8, "--maps maps.json"); };
  CHECK(error_of(collect).find("--maps maps.json [8, 1000000, 1000000] needs 32.0 TB") == 0);
  CHECK(fails_with(Fault::system, collect));
}

TEST_CASE("steps go to those who asked for them and to nobody else") {
  Collect<float> first({2, 2}, 1, "a");
  Collect<float> second({2, 2}, 1, "b");
  Sinks<float> sinks;
  sinks.add(Step::concat, first);
  sinks.add(Step::concat, second);
  CHECK(sinks.wants(Step::concat));
  CHECK_FALSE(sinks.wants(Step::q));

  const Tensor<float> concat = counted<float>({2, 2});
  const Tensor<float> other = tensor_of<float>({2, 2}, {9, 9, 9, 9});
  sinks.rows(Step::concat, {}, concat.matrix());
  sinks.rows(Step::q, {}, other.matrix());
  CHECK(same(first.tensor(), concat));
  CHECK(same(second.tensor(), concat));
}

TEST_CASE("layers of a stack make one tensor with a layer axis in front") {
  const Tensor<float> both = counted<float>({2, 3, 2, 4, 5});
  Collect<float> whole(both.shape(), 2, "maps");
  for (const std::size_t layer : {0, 1}) {
    Tensor<float> one({3, 2, 4, 5});
    std::copy_n(both.data() + layer * one.size(), one.size(), one.data());
    FromLayer<float> part(whole, layer, 3);
    feed(part, one, 2, 3);
  }
  CHECK(same(whole.tensor(), both));
}

TEST_CASE("each layer has its own sinks, and the stack has") {
  StackSinks<float> sinks(2);
  Collect<float> q(Shape{1, 2, 3}, 1, "q");
  sinks.at(1).add(Step::q, q);
  Collect<float> y(Shape{2, 3}, 1, "y");
  sinks.at(2).add(Step::y, y);
  CHECK_FALSE(sinks.layer(0).wants(Step::q));
  CHECK(sinks.layer(1).wants(Step::q));
  CHECK_FALSE(sinks.layer(1).wants(Step::y));
  CHECK(sinks.stack().wants(Step::y));
}

TEST_CASE("heads are chosen in the order named") {
  const Tensor<float> maps = counted<float>({2, 3, 4, 2});
  SelectHeads<float> select(3, {2, 0}, false);
  REQUIRE(select.count() == 2);
  Collect<float> collect({2, 2, 4, 2}, 2, "maps");
  select.add(collect);
  feed(select, maps, 3, 3);

  for (std::size_t item = 0; item < 2; ++item) {
    CHECK(collect.tensor().matrix(item * 2)(1, 1) == maps.matrix(item * 3 + 2)(1, 1));
    CHECK(collect.tensor().matrix(item * 2 + 1)(3, 0) == maps.matrix(item * 3)(3, 0));
  }
}

TEST_CASE("no heads named are all of them") {
  const Tensor<float> maps = counted<float>({3, 4, 2});
  SelectHeads<float> select(3, {}, false);
  REQUIRE(select.count() == 3);
  Collect<float> collect(maps.shape(), 3, "maps");
  select.add(collect);
  feed(select, maps, 3, 3);
  CHECK(same(collect.tensor(), maps));
}

TEMPLATE_TEST_CASE("the mean over heads is theirs alone, block by block", "", float, double) {
  const std::size_t block_rows = GENERATE(1, 2, 3);
  // counted(): heads of one item are 6 apart, items 18.
  const Tensor<TestType> maps = counted<TestType>({2, 3, 3, 2});
  Collect<TestType> collect({2, 1, 3, 2}, 1, "maps");
  double shift = 0.0;
  std::vector<std::size_t> heads;
  SECTION("all") { shift = 6.0; }
  SECTION("two of three") {
    heads = {2, 0};
    shift = 6.0;
  }
  SECTION("one") {
    heads = {2};
    shift = 12.0;
  }
  SelectHeads<TestType> select(3, heads, true);
  REQUIRE(select.count() == 1);
  select.add(collect);
  feed(select, maps, 3, block_rows, 1);
  for (std::size_t item = 0; item < 2; ++item) {
    for (std::size_t i = 0; i < 6; ++i) {
      const double expected =
          18.0 * static_cast<double>(item) + static_cast<double>(i) + shift;
      CHECK(static_cast<double>(collect.tensor().data()[item * 6 + i]) == expected);
    }
  }
}

TEST_CASE("the mean over heads is taken in double") {
  // In f32 the first sum would swallow the 1: 2^24 + 1 is no float.
  const Tensor<float> maps = tensor_of<float>({3, 1, 1}, {16777216, 1, 1});
  SelectHeads<float> select(3, {}, true);
  Collect<float> collect({1, 1, 1}, 1, "maps");
  select.add(collect);
  feed(select, maps, 3, 1);
  CHECK(collect.tensor().data()[0] == static_cast<float>(16777218.0 / 3.0));
}

TEST_CASE("a head that is not there or named twice is refused") {
  CHECK(error_of([] {
          SelectHeads<float>(2, {0, 2}, false);
        }) == "--map-heads: head 2 is not there, heads are 0 to 1");
  CHECK(error_of([] {
          SelectHeads<float>(2, {1, 1}, false);
        }) == "--map-heads: head 1 is named twice");
}
