#include "mha_bench/bench.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/memory.h"
#include "checkpoint/torch_init.h"
#include "kernels/blas_advice.h"
#include "kernels/gemm.h"
#include "kernels/simd.h"
#include "program.h"
#include "results/bench.h"
#include "results/bench_report.h"
#include "threads.h"

namespace mha {
namespace {

// Weights as PyTorch draws them for a fresh layer.
Encoder<float> draw_model(const BenchOptions& options, std::size_t n_heads) {
  TorchArguments arguments;
  arguments.module = options.part == Part::layer ? TorchModule::transformer_encoder_layer
                                                 : TorchModule::four_linear;
  arguments.d_model = options.d_model;
  arguments.n_heads = n_heads;
  arguments.d_ff = options.d_ff;
  arguments.activation = options.activation;
  TorchRandom random(0);
  Encoder<float> model = torch_init(arguments, random);
  if (options.causal) model.layers.front().settings.attention.causal = Causal::start;
  return model;
}

Tensor<float> draw_vectors(std::size_t n, std::size_t d_model) {
  const auto count = checked_multiply(n, d_model);
  const auto bytes = count ? checked_multiply(*count, sizeof(float)) : std::nullopt;
  require_memory(bytes.value_or(std::numeric_limits<std::size_t>::max()),
                 "x " + to_string({n, d_model}));
  Tensor<float> x({n, d_model});
  TorchRandom random(1);
  random.normal(x.values(), 0.0, 1.0);
  return x;
}

// Numbers of threads to use: those asked for, as far as there are processors.
std::vector<std::size_t> thread_counts(const BenchOptions& options) {
  std::vector<std::size_t> counts;
  const auto add = [&counts](std::size_t count) {
    if (std::ranges::find(counts, count) == counts.end()) counts.push_back(count);
  };
  for (const std::size_t asked : options.threads) add(set_up_threads(asked));
  if (options.threads.empty()) {
    const std::size_t most = set_up_threads(std::nullopt);
    add(1);
    add(most);
  }
  return counts;
}

std::string units_text(Gemm gemm) {
  std::string text =
      std::string("SIMD target ") + simd_target() + ", BLAS kernel " + blas_kernel();
  if (gemm == Gemm::openblas) text += ", --gemm openblas";
  if (gemm == Gemm::native) text += ", --gemm native";
  const std::string advice =
      blas_advice(blas_kernel(), simd_targets(), std::getenv("OPENBLAS_CORETYPE"));
  if (!advice.empty()) text += "; " + advice;
  return text;
}

void print_report(const BenchOptions& options, const std::vector<BenchResult>& results) {
  if (options.json) {
    print(bench_json(results));
    return;
  }
  std::string text = bench_table(results, units_text(options.gemm));
  if (options.sweep == BenchOptions::Sweep::heads) text += "\n" + heads_sweep_text(results);
  if (options.sweep == BenchOptions::Sweep::n) text += "\n" + n_sweep_text(results);
  print(text);
}

}  // namespace

int bench(const BenchOptions& options) {
  use_gemm(options.gemm);
  std::map<std::size_t, Encoder<float>> models;  // by n_heads
  for (const std::size_t n_heads : options.n_heads) {
    models.try_emplace(n_heads, draw_model(options, n_heads));
  }
  std::map<std::size_t, Tensor<float>> vectors;  // by n
  for (const std::size_t n : options.n) {
    vectors.try_emplace(n, draw_vectors(n, options.d_model));
  }
  std::vector<BenchCase> cases;
  for (const std::size_t threads : thread_counts(options)) {
    for (const std::size_t n : options.n) {
      for (const std::size_t n_heads : options.n_heads) {
        cases.push_back({&models.at(n_heads), &vectors.at(n), threads, options.maps});
      }
    }
  }

  std::vector<BenchResult> results;
  for (const BenchCase& of : cases) {
    const BenchCheck check = check_case(of);
    const std::string text = name_of(of) + ": " + check_text(of, check);
    if (!check.passed()) {
      log_error(text + ": more than rounding; nothing is timed");
      return 1;
    }
    log_detail(text);
    results.push_back({of, check, {}});
  }
  const std::vector<BenchTimes> times = time_cases(cases, options.rounds);
  for (std::size_t i = 0; i < times.size(); ++i) results[i].times = times[i];
  print_report(options, results);
  return 0;
}

}  // namespace mha
