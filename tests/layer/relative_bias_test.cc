// T5's buckets, and where a bias by distance lands.
#include "layer/relative_bias.h"

#include <vector>

#include "catch.h"

namespace mha {
namespace {

// The distances of one direction at which a new bucket begins, as PyTorch's
// torch.log(n.float() / exact) / math.log(far / exact) gives them.
struct Table {
  std::size_t buckets, relative_distance;
  std::vector<std::size_t> begins;
};

}  // namespace

TEST_CASE("buckets of distance begin where T5's begin, in both directions") {
  const Table table = GENERATE(
      Table{32, 128, {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}},
      Table{32, 64, {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 18, 23, 30, 39, 50}},
      Table{8, 20, {0, 1, 2, 7}}, Table{4, 2, {0, 1}},
      Table{64, 200, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  14,  15,
                      16, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171}});
  std::size_t bucket = 0;
  for (std::size_t away = 0; away <= 1000; ++away) {
    if (bucket + 1 < table.begins.size() && table.begins[bucket + 1] == away) ++bucket;
    const auto distance = static_cast<std::ptrdiff_t>(away);
    CAPTURE(table.buckets, away);
    CHECK(relative_bucket(-distance, table.buckets, table.relative_distance) == bucket);
    if (away == 0) continue;
    CHECK(relative_bucket(distance, table.buckets, table.relative_distance) ==
          bucket + table.buckets / 2);
  }
  CHECK(bucket == table.buckets / 2 - 1);
}

TEST_CASE("a head's bias goes by the distance from query to key") {
  // Buckets 0 and 1 at and before the query, 2 and 3 behind it; two heads.
  Tensor<float> relative_bias({4, 2});
  for (std::size_t i = 0; i < 8; ++i) relative_bias.data()[i] = static_cast<float>(i + 1);
  const MaskAxes axes = {1, 2, 3, 2};
  const auto scores_of = [&](const FirstPositions& first, std::size_t head) {
    const auto bias = bias_by_distance(relative_bias, 2, axes, first);
    auto scores = Tensor<float>::zeros({2, 2});
    add_by_distance<float>({bias.matrix().row(head), bias.shape()[1]}, 3, 1, 0, scores.matrix());
    return std::vector<float>(scores.values().begin(), scores.values().end());
  };
  // Queries 1 and 2 on keys 0 and 1; bucket 3 is 1 or more behind.
  CHECK(scores_of({0, 0}, 0) == std::vector<float>{3, 1, 3, 3});
  CHECK(scores_of({0, 0}, 1) == std::vector<float>{4, 2, 4, 4});
  CHECK(scores_of({0, 1}, 0) == std::vector<float>{1, 7, 3, 1});
  CHECK(scores_of({4, 0}, 0) == std::vector<float>{3, 3, 3, 3});
}

}  // namespace mha
