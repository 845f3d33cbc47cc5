#include "results/bench.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "checkpoint/torch_init.h"
#include "results/bench_report.h"

using namespace mha;

namespace {

Encoder<float> layer_of(std::size_t d_model, std::size_t n_heads, TorchModule module) {
  TorchArguments arguments;
  arguments.module = module;
  arguments.d_model = d_model;
  arguments.n_heads = n_heads;
  arguments.d_ff = 24;
  TorchRandom random(3);
  return torch_init(arguments, random);
}

Tensor<float> vectors(std::size_t n, std::size_t d_model) {
  Tensor<float> x({n, d_model});
  TorchRandom random(4);
  random.normal(x.values(), 0.0, 1.0);
  return x;
}

}  // namespace

TEST_CASE("flops are those of the products, of causal attention half of the n² part") {
  Encoder<float> model = layer_of(16, 4, TorchModule::transformer_encoder_layer);
  const Tensor<float> x = vectors(10, 16);
  const BenchCase of{&model, &x};
  const double projections = 8.0 * 10 * 16 * 16;
  const double squared = 4.0 * 10 * 10 * 16;
  const double feed_forward = 4.0 * 10 * 16 * 24;
  CHECK(flops_of(of) == projections + squared + feed_forward);
  model.layers[0].settings.part = Part::attention;
  CHECK(flops_of(of) == projections + squared);
  model.layers[0].settings.attention.causal = Causal::start;
  CHECK(flops_of(of) == projections + squared / 2);
}

TEST_CASE("results of the layer pass the check, all of them or some") {
  const TorchModule module =
      GENERATE(TorchModule::four_linear, TorchModule::transformer_encoder_layer);
  Encoder<float> model = layer_of(32, 4, module);
  model.layers[0].settings.attention.causal = GENERATE(Causal::off, Causal::start);
  const Tensor<float> x = vectors(100, 32);
  const bool maps = GENERATE(false, true);
  const auto [most_flops, queries] =
      GENERATE(table<double, std::size_t>({{kCheckedWhole, 100}, {0.0, 64}}));
  const BenchCheck check = check_case({&model, &x, 1, maps}, most_flops);
  CHECK(check.queries == queries);
  CHECK(check.passed());
  CHECK(check.y_error > 0.0);
  CHECK((check.map_error > 0.0) == maps);
  CHECK((check.sum_error > 0.0) == maps);
}

TEST_CASE("a check fails from the contract's tolerances on, and on what is no number") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(BenchCheck{4, 1e-5, 1e-6, 1e-6}.passed());
  CHECK(!BenchCheck{4, 2e-5, 0.0, 0.0}.passed());
  CHECK(!BenchCheck{4, 0.0, 2e-6, 0.0}.passed());
  CHECK(!BenchCheck{4, 0.0, 0.0, 2e-6}.passed());
  CHECK(!BenchCheck{4, nan, 0.0, 0.0}.passed());
}

TEST_CASE("reports show the minimum as a share of the peak") {
  const Encoder<float> model = layer_of(16, 4, TorchModule::four_linear);
  const Tensor<float> x = vectors(10, 16);
  const BenchCase of{&model, &x, 2, true};
  BenchTimes times;
  times.ms_min = 0.5;
  times.ms_median = 0.75;
  times.threads = 2;
  times.peak = 4.0 * flops_of(of) / 0.5e-3;
  const std::vector<BenchResult> results = {{of, {10, 2e-7, 0.0, 0.0}, times}};
  CHECK(bench_json(results) ==
        "[\n  {\"n\": 10, \"d_model\": 16, \"n_heads\": 4, \"threads\": 2, \"maps\": true, "
        "\"part\": \"attention\", \"ms_min\": 0.5, \"ms_median\": 0.75, \"gflops\": 0.05376, "
        "\"peak_gflops\": 0.21504, \"of_peak\": 0.25}\n]\n");
  const std::string table = bench_table(results, "units");
  CHECK(table.find(
            "10      4        2   yes  0.5000  0.7500      0.1   0.2     25 %     20000") !=
        std::string::npos);
}

TEST_CASE("sweeps are summed up in a line") {
  const Encoder<float> one = layer_of(16, 1, TorchModule::four_linear);
  const Encoder<float> four = layer_of(16, 4, TorchModule::four_linear);
  const Tensor<float> x = vectors(10, 16);
  const Tensor<float> longer = vectors(20, 16);
  BenchTimes fast;
  fast.ms_min = 0.5;
  BenchTimes slow;
  slow.ms_min = 0.6;
  CHECK(heads_sweep_text(
            std::vector<BenchResult>{{{&one, &x}, {}, fast}, {{&four, &x}, {}, slow}}) ==
        "n 10, 1 thread: 4 heads, the slowest, take 1.20 times as long as 1 head, the "
        "fastest\n");
  CHECK(n_sweep_text(
            std::vector<BenchResult>{{{&one, &x}, {}, fast}, {{&one, &longer}, {}, slow}}) ==
        "1 thread, n 10 to 20: 1.20 times the time, 2.48 times the flops\n");
}
