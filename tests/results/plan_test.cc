#include "results/plan.h"

#include "base/memory.h"
#include "catch.h"
#include "layer/attention.h"

using namespace mha;

namespace {

// d_model 512, 8 heads of 64.
constexpr AttentionSizes kUsual = {512, 512, 512, 8, 8, 64, 64};

double total_flops(const std::vector<PlannedStep>& plan) {
  double flops = 0.0;
  for (const PlannedStep& step : plan) flops += step.flops;
  return flops;
}

std::vector<PlannedStep> plan_of(const AttentionSizes& sizes, const MaskAxes& axes,
                                 std::size_t element_size) {
  return mha::plan_of({0, {sizes}, {.part = Part::attention}}, axes, element_size);
}

std::string describe(const AttentionSizes& sizes, const MaskAxes& axes) {
  return describe_plan({{{0, {sizes}, {.part = Part::attention}}}, axes}, 4);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plan names the steps of attention with their shapes") {
  const auto plan = ::plan_of(kUsual, {1, 8, 128, 100}, 4);
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
  const auto plan = ::plan_of(kUsual, {1, 8, 128, 100}, 4);
  CHECK(plan[0].flops == 2.0 * 128 * 512 * 512);
  CHECK(plan[1].flops == 2.0 * 100 * 512 * 512);
  CHECK(plan[3].flops == 2.0 * 8 * 128 * 100 * 64);
  CHECK(plan[4].flops == 5.0 * 8 * 128 * 100);
  CHECK(plan[5].flops == 2.0 * 8 * 128 * 100 * 64);
  CHECK(plan[6].flops == 2.0 * 128 * 512 * 512);
}

TEST_CASE("bytes are those of what a step makes, in its precision") {
  CHECK(::plan_of(kUsual, {1, 8, 128, 100}, 4)[0].bytes == 4.0 * 128 * 512);
  CHECK(::plan_of(kUsual, {1, 8, 128, 100}, 4)[3].bytes == 4.0 * 8 * 128 * 100);
  CHECK(::plan_of(kUsual, {1, 8, 128, 100}, 8)[5].bytes == 8.0 * 8 * 128 * 64);
}

TEST_CASE("grouped heads make fewer keys and values, not fewer scores") {
  const AttentionSizes grouped = {32, 24, 20, 6, 2, 5, 7};
  const auto plan = ::plan_of(grouped, {1, 6, 3, 4}, 4);
  CHECK(plan[0].shapes == "[3, 32] x [32, 30] -> [3, 30]");
  CHECK(plan[1].shapes == "[4, 24] x [24, 10] -> [4, 10]");
  CHECK(plan[2].shapes == "[4, 20] x [20, 14] -> [4, 14]");
  CHECK(plan[3].shapes == "[6, 3, 5] x [2, 5, 4] -> [6, 3, 4]");
  CHECK(plan[3].flops == 2.0 * 6 * 3 * 4 * 5);
  CHECK(plan[5].shapes == "[6, 3, 4] x [2, 4, 7] -> [6, 3, 7]");
  CHECK(plan[6].shapes == "[3, 42] x [42, 32] -> [3, 32]");
}

TEST_CASE("a batch multiplies all work and stands before all shapes but the weights'") {
  const auto one = ::plan_of(kUsual, {1, 8, 16, 16}, 4);
  const auto three = ::plan_of(kUsual, {3, 8, 16, 16}, 4);
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
    const auto plan = ::plan_of(sizes, {1, n_heads, 256, 256}, 4);
    return total_flops(plan) - plan[4].flops;
  };
  CHECK(cost_without_softmax(1) == cost_without_softmax(8));
  CHECK(cost_without_softmax(8) == cost_without_softmax(64));
}

TEST_CASE("the table is aligned and ends with totals") {
  const MaskAxes axes = {1, 8, 8192, 8192};
  const std::string text = describe(kUsual, axes);
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
  const std::string text = describe(kUsual, axes);
  const std::size_t rows = score_block_rows(8192, 8192, 4);
  CHECK(holds(text, "weights 4.2 MB; q, k and v of one item 50.3 MB; " + std::to_string(rows) +
                        " rows of scores " + format_bytes(rows * 8192 * 4) + "\n"));
  CHECK(holds(text, "all scores and maps would be 4.3 GB"));
}

TEST_CASE("the plan says that n² d_model is the cost whatever n_heads") {
  const MaskAxes axes = {1, 8, 128, 128};
  CHECK(holds(describe(kUsual, axes),
              "scores and head_outputs cost 4 n_queries n_keys n_heads d_head = "
              "4 · 128 · 128 · 8 · 64 = 33.6 MFLOP\n"
              "(n_heads d_head = d_model: n² d_model is what counts, whatever n_heads)\n"));

  const AttentionSizes other = {32, 24, 20, 6, 2, 5, 7};
  const MaskAxes few = {3, 6, 1, 100};
  CHECK(holds(describe(other, few),
              "cost batch · 2 n_queries n_keys n_heads (d_head + d_v) = "
              "3 · 2 · 1 · 100 · 6 · (5 + 7) = 43.2 kFLOP\n"
              "(n_heads d_head = 30, n_heads d_v = 42, d_model = 32;"));
}

TEST_CASE("a layer adds its residuals, norms and feed-forward") {
  const LayerSizes sizes{{32, 32, 32, 4, 4, 8, 8}, 64};
  const auto plan = mha::plan_of({0, sizes, {}}, {1, 4, 10, 10}, 4);
  REQUIRE(plan.size() == 13);
  CHECK(plan[7].name == "residual1 = x + attention_output");
  CHECK(plan[8].name == "norm1 = norm(residual1)");
  CHECK(plan[9].shapes == "[10, 32] x [32, 64] -> [10, 64]");
  CHECK(plan[9].flops == 2.0 * 10 * 32 * 64);
  CHECK(plan[10].flops == 2.0 * 10 * 32 * 64);
  CHECK(plan[11].name == "residual2 = norm1 + ffn_output");
  CHECK(plan[12].name == "norm2 = norm(residual2)");

  const auto gated = mha::plan_of(
      {0, {sizes.attention, 64, true}, {.norm = NormPlacement::pre}}, {1, 4, 10, 10}, 4);
  REQUIRE(gated.size() == 14);
  CHECK(gated[0].name == "norm1 = norm(x)");
  CHECK(gated[9].name == "norm2 = norm(residual1)");
  CHECK(gated[10].name == "gate = norm2 W_G + b_G");
  CHECK(gated[13].name == "residual2 = residual1 + ffn_output");
}

TEST_CASE("latent attention is planned through its latents, and absorbed without W_UK") {
  AttentionSizes sizes{32, 32, 32, 4, 4, 12, 8};
  sizes.q_rank = 10;
  sizes.kv_rank = 6;
  sizes.d_rope = 4;
  const auto plan = ::plan_of(sizes, {1, 4, 3, 3}, 4);
  CHECK(plan[0].shapes == "[3, 32] x [32, 10] -> [3, 10]");
  CHECK(plan[1].shapes == "[3, 10] x [10, 48] -> [3, 48]");
  CHECK(plan[2].shapes == "[3, 32] x [32, 10] -> [3, 10]");
  CHECK(plan[3].shapes == "[3, 6] x [6, 32] -> [3, 32]");
  CHECK(plan[4].shapes == "[3, 6] x [6, 32] -> [3, 32]");
  CHECK(plan[5].shapes == "[4, 3, 12] x [4, 12, 3] -> [4, 3, 3]");

  AttentionSizes absorbed{32, 32, 32, 4, 1, 10, 6};
  absorbed.kv_rank = 6;
  absorbed.d_rope = 4;
  const auto short_plan = ::plan_of(absorbed, {1, 4, 3, 3}, 4);
  CHECK(short_plan[0].shapes == "[3, 32] x [32, 40] -> [3, 40]");
  CHECK(short_plan[2].shapes == "[4, 3, 10] x [1, 10, 3] -> [4, 3, 3]");
}

TEST_CASE("a stack is planned once for each kind of layer, and in all") {
  const LayerSizes sizes{{32, 32, 32, 4, 4, 8, 8}, 64};
  const TracedRun run{{{0, sizes, {}}, {1, sizes, {}}, {2, sizes, {.part = Part::attention}}},
                      {1, 4, 10, 10}};
  const std::string text = describe_plan(run, 4);
  CHECK(text.find("layers 0 to 1, each\nstep ") == 0);
  CHECK(holds(text, "\nlayer 2\nstep "));
  double flops = 0.0;
  for (const TracedLayer& layer : run.layers) {
    flops += total_flops(mha::plan_of(layer, run.axes, 4));
  }
  CHECK(flops == 465520.0);
  CHECK(holds(text, "all 3 layers: 466 kFLOP, "));
  CHECK(holds(text, "residuals and norms 3.8 kB\n"));
}
