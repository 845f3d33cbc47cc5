#include "results/plan.h"

#include "catch.h"

using namespace mha;

namespace {

// d_model 512, 8 heads of 64.
constexpr AttentionSizes kUsual = {512, 512, 512, 8, 8, 64, 64};

double total_flops(const std::vector<PlannedStep>& plan) {
  double flops = 0.0;
  for (const PlannedStep& step : plan) flops += step.flops;
  return flops;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plan names the steps of attention with their shapes") {
  const auto plan = plan_of(kUsual, {1, 8, 128, 100}, 4);
  REQUIRE(plan.size() == 7);
  CHECK(plan[0].name == "q = x W_Q + b_Q");
  CHECK(plan[0].shapes == "[128, 512] x [512, 512] -> [128, 512]");
  CHECK(plan[1].shapes == "[100, 512] x [512, 512] -> [100, 512]");
  CHECK(plan[2].shapes == "[100, 512] x [512, 512] -> [100, 512]");
  CHECK(plan[3].shapes == "[8, 128, 64] x [8, 64, 100] -> [8, 128, 100]");
  CHECK(plan[4].shapes == "[8, 128, 100]");
  CHECK(plan[5].shapes == "[8, 128, 100] x [8, 100, 64] -> [8, 128, 64]");
  CHECK(plan[6].shapes == "[128, 512] x [512, 512] -> [128, 512]");
}

TEST_CASE("multiply and add count as two, softmax five a score") {
  const auto plan = plan_of(kUsual, {1, 8, 128, 100}, 4);
  CHECK(plan[0].flops == 2.0 * 128 * 512 * 512);
  CHECK(plan[1].flops == 2.0 * 100 * 512 * 512);
  CHECK(plan[3].flops == 2.0 * 8 * 128 * 100 * 64);
  CHECK(plan[4].flops == 5.0 * 8 * 128 * 100);
  CHECK(plan[5].flops == 2.0 * 8 * 128 * 100 * 64);
  CHECK(plan[6].flops == 2.0 * 128 * 512 * 512);
}

TEST_CASE("bytes are those of what a step makes, in its precision") {
  CHECK(plan_of(kUsual, {1, 8, 128, 100}, 4)[0].bytes == 4.0 * 128 * 512);
  CHECK(plan_of(kUsual, {1, 8, 128, 100}, 4)[3].bytes == 4.0 * 8 * 128 * 100);
  CHECK(plan_of(kUsual, {1, 8, 128, 100}, 8)[5].bytes == 8.0 * 8 * 128 * 64);
}

TEST_CASE("grouped heads make fewer keys and values, not fewer scores") {
  const AttentionSizes grouped = {32, 24, 20, 6, 2, 5, 7};
  const auto plan = plan_of(grouped, {1, 6, 3, 4}, 4);
  CHECK(plan[0].shapes == "[3, 32] x [32, 30] -> [3, 30]");
  CHECK(plan[1].shapes == "[4, 24] x [24, 10] -> [4, 10]");
  CHECK(plan[2].shapes == "[4, 20] x [20, 14] -> [4, 14]");
  CHECK(plan[3].shapes == "[6, 3, 5] x [2, 5, 4] -> [6, 3, 4]");
  CHECK(plan[3].flops == 2.0 * 6 * 3 * 4 * 5);
  CHECK(plan[5].shapes == "[6, 3, 4] x [2, 4, 7] -> [6, 3, 7]");
  CHECK(plan[6].shapes == "[3, 42] x [42, 32] -> [3, 32]");
}

TEST_CASE("a batch multiplies all work and stands before all shapes but the weights'") {
  const auto one = plan_of(kUsual, {1, 8, 16, 16}, 4);
  const auto three = plan_of(kUsual, {3, 8, 16, 16}, 4);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(three[i].flops == 3.0 * one[i].flops);
    CHECK(three[i].bytes == 3.0 * one[i].bytes);
  }
  CHECK(three[0].shapes == "[3, 16, 512] x [512, 512] -> [3, 16, 512]");
  CHECK(three[3].shapes == "[3, 8, 16, 64] x [3, 8, 64, 16] -> [3, 8, 16, 16]");
}

TEST_CASE("the number of heads changes the softmax alone") {
  const auto cost_without_softmax = [](std::size_t n_heads) {
    const AttentionSizes sizes = {512,     512,           512,          n_heads,
                                  n_heads, 512 / n_heads, 512 / n_heads};
    const auto plan = plan_of(sizes, {1, n_heads, 256, 256}, 4);
    return total_flops(plan) - plan[4].flops;
  };
  CHECK(cost_without_softmax(1) == cost_without_softmax(8));
  CHECK(cost_without_softmax(8) == cost_without_softmax(64));
}

TEST_CASE("the table is aligned and ends with totals") {
  const MaskAxes axes = {1, 8, 8192, 8192};
  const std::string text = describe(plan_of(kUsual, axes, 4), kUsual, axes, 4);
  const std::string table = text.substr(0, text.find("\n\n"));
  std::size_t width = table.find('\n');
  std::size_t lines = 0;
  for (std::size_t at = 0; at < table.size(); at += width + 1, ++lines) {
    CHECK((at + width == table.size() || table[at + width] == '\n'));
  }
  CHECK(lines == 9);
  CHECK(holds(text,
              "[8, 8192, 64] x [8, 64, 8192] -> [8, 8192, 8192]  68.7 GFLOP      2.1 GB\n"));
  CHECK(holds(text, " 157 GFLOP      4.4 GB\n"));
}

TEST_CASE("the plan tells what is held, a block of score rows, from what is never whole") {
  const MaskAxes axes = {1, 8, 8192, 8192};
  const std::string text = describe(plan_of(kUsual, axes, 4), kUsual, axes, 4);
  const std::size_t rows = score_block_rows(8192, 8192, 4);
  CHECK(holds(text, "weights 4.2 MB; q, k, v and concat of one item 67.1 MB; " +
                        std::to_string(rows) + " rows of scores " +
                        format_bytes(rows * 8192 * 4) + "\n"));
  CHECK(holds(text, "all scores and maps would be 4.3 GB"));
}

TEST_CASE("the plan says that n² d_model is the cost whatever n_heads") {
  const MaskAxes axes = {1, 8, 128, 128};
  CHECK(holds(describe(plan_of(kUsual, axes, 4), kUsual, axes, 4),
              "scores and head_outputs cost 4 n_queries n_keys n_heads d_head = "
              "4 · 128 · 128 · 8 · 64 = 33.6 MFLOP\n"
              "(n_heads d_head = d_model: n² d_model is what counts, whatever n_heads)\n"));

  const AttentionSizes other = {32, 24, 20, 6, 2, 5, 7};
  const MaskAxes few = {3, 6, 1, 100};
  CHECK(holds(describe(plan_of(other, few, 4), other, few, 4),
              "cost batch · 2 n_queries n_keys n_heads (d_head + d_v) = "
              "3 · 2 · 1 · 100 · 6 · (5 + 7) = 43.2 kFLOP\n"
              "(n_heads d_head = 30, n_heads d_v = 42, d_model = 32;"));
}
