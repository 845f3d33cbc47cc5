#include "results/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/peak.h"
#include "layer/encoder.h"
#include "results/sink.h"

namespace mha {
namespace {

constexpr std::size_t kQueriesChecked = 64;
constexpr double kRoundSeconds = 0.05;
constexpr double kProbeSeconds = 0.01;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void use(std::size_t threads) {
  if (threads_in_use() != threads) use_threads(threads);  // which starts them anew
  use_blas_threads(threads);
}

Collect<float> maps_in_memory(const BenchCase& of) {
  return {{of.n_heads(), of.n(), of.n()}, of.n_heads(), "maps"};
}

// y of a case; its maps go to `maps` where that is not null.
Tensor<float> run(const BenchCase& of, Collect<float>* maps) {
  StackSinks<float> sinks(1);
  if (maps != nullptr) sinks.at(0).add(Step::maps, *maps);
  AttentionFindings findings;
  return encode<float>(*of.model, {}, {*of.x, *of.x, *of.x}, sinks, findings);
}

Tensor<double> widened(const Tensor<float>& values) {
  Tensor<double> wide(values.shape());
  std::ranges::copy(values.values(), wide.values().begin());
  return wide;
}

NormWeights<double> widened(const NormWeights<float>& norm) {
  return {widened(norm.weight), widened(norm.bias)};
}

Encoder<double> widened(const Layer<float>& layer) {
  Layer<double> wide;
  wide.settings = layer.settings;
  const AttentionWeights<float>& from = layer.attention;
  AttentionWeights<double>& to = wide.attention;
  to.sizes = from.sizes;
  for (const auto& [values, place] : {std::pair{&from.W_Q, &to.W_Q},
                                      {&from.W_K, &to.W_K},
                                      {&from.W_V, &to.W_V},
                                      {&from.W_O, &to.W_O},
                                      {&from.b_Q, &to.b_Q},
                                      {&from.b_K, &to.b_K},
                                      {&from.b_V, &to.b_V},
                                      {&from.b_O, &to.b_O}}) {
    *place = widened(*values);
  }
  wide.norm1 = widened(layer.norm1);
  wide.norm2 = widened(layer.norm2);
  wide.feed_forward.W_1 = widened(layer.feed_forward.W_1);
  wide.feed_forward.b_1 = widened(layer.feed_forward.b_1);
  wide.feed_forward.W_2 = widened(layer.feed_forward.W_2);
  wide.feed_forward.b_2 = widened(layer.feed_forward.b_2);
  Encoder<double> encoder;
  encoder.layers.push_back(std::move(wide));
  return encoder;
}

// Positions of the queries to check, in order.
std::vector<std::size_t> queries_to_check(std::size_t n, bool all) {
  std::vector<std::size_t> every(n);
  std::iota(every.begin(), every.end(), std::size_t{0});
  if (all || n <= kQueriesChecked) return every;
  std::vector<std::size_t> some = {0};
  std::mt19937 random(0);  // NOLINT(bugprone-random-generator-seed): the same on every run
  std::sample(every.begin() + 1, every.end() - 1, std::back_inserter(some),
              kQueriesChecked - 2, random);
  some.push_back(n - 1);
  return some;
}

// Hides the keys behind each of these queries.
Mask<double> causal_mask(const std::vector<std::size_t>& queries, std::size_t n_keys) {
  Tensor<std::uint8_t> hidden({1, 1, queries.size(), n_keys});
  for (std::size_t i = 0; i < queries.size(); ++i) {
    std::uint8_t* row = hidden.matrix().row(i);
    std::fill(row, row + queries[i] + 1, std::uint8_t{0});
    std::fill(row + queries[i] + 1, row + n_keys, std::uint8_t{1});
  }
  Mask<double> mask;
  mask.drop.push_back({std::move(hidden)});
  return mask;
}

// A NaN is the largest error.
void take(double error, double& largest) {
  largest =
      std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
}

// Compares f64 maps of some queries with the f32 maps of all.
class CompareMaps final : public Sink<double> {
 public:
  CompareMaps(const Tensor<float>& maps, const std::vector<std::size_t>& queries,
              BenchCheck& check)
      : maps_(maps), queries_(queries), check_(check) {}

  void rows(const Place& place, ConstMatrixView<double> block) override {
    for (std::size_t i = 0; i < block.rows; ++i) {
      const float* row = maps_.matrix(place.head).row(queries_[place.first_row + i]);
      double sum = 0.0;
      for (std::size_t j = 0; j < block.cols; ++j) {
        const auto value = static_cast<double>(row[j]);
        sum += value;
        take(std::abs(value - block(i, j)), check_.map_error);
      }
      take(std::abs(sum - 1.0), check_.sum_error);
    }
  }

 private:
  const Tensor<float>& maps_;
  const std::vector<std::size_t>& queries_;
  BenchCheck& check_;
};

}  // namespace

double flops_of(const BenchCase& of) {
  const auto n = static_cast<double>(of.n());
  const auto d_model = static_cast<double>(of.d_model());
  const auto d_ff = static_cast<double>(of.whole_layer() ? of.layer().sizes().d_ff : 0);
  return 8.0 * n * d_model * d_model + (of.causal() ? 2.0 : 4.0) * n * n * d_model +
         4.0 * n * d_model * d_ff;
}

BenchCheck check_case(const BenchCase& of, double most_flops) {
  use(of.threads);
  std::vector<Collect<float>> maps;
  if (of.maps) maps.push_back(maps_in_memory(of));
  const Tensor<float> y = run(of, of.maps ? &maps.front() : nullptr);

  const auto queries = queries_to_check(of.n(), flops_of(of) <= most_flops);
  const Tensor<double> keys = widened(*of.x);
  Tensor<double> x({queries.size(), of.d_model()});
  for (std::size_t i = 0; i < queries.size(); ++i) {
    std::copy_n(keys.matrix().row(queries[i]), x.shape()[1], x.matrix().row(i));
  }
  Encoder<double> encoder = widened(of.layer());
  encoder.layers.front().settings.attention.causal = Causal::off;
  const Mask<double> mask = of.causal() ? causal_mask(queries, of.n()) : Mask<double>{};

  BenchCheck check;
  check.queries = queries.size();
  StackSinks<double> sinks(1);
  std::vector<CompareMaps> compare;
  if (of.maps) {
    compare.emplace_back(maps.front().tensor(), queries, check);
    sinks.at(0).add(Step::maps, compare.front());
  }
  AttentionFindings findings;
  const Tensor<double> expected =
      encode<double>(encoder, mask, {x, keys, keys}, sinks, findings);

  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (std::size_t j = 0; j < of.d_model(); ++j) {
      const double value = expected.matrix()(i, j);
      take(std::abs(value), largest);
      take(std::abs(static_cast<double>(y.matrix()(queries[i], j)) - value), difference);
    }
  }
  check.y_error = difference / largest;
  return check;
}

std::vector<BenchTimes> time_cases(std::span<const BenchCase> cases, std::size_t rounds) {
  std::map<Shape, Collect<float>> maps;  // one for all cases of a shape
  for (const BenchCase& of : cases) {
    if (of.maps) maps.try_emplace({of.n_heads(), of.n()}, maps_in_memory(of));
  }
  std::vector<BenchTimes> times(cases.size());
  std::vector<std::vector<double>> runs(cases.size());  // ms
  std::map<std::size_t, double> peaks;                  // by threads
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const BenchCase& of = cases[i];
      Collect<float>* sink = of.maps ? &maps.at({of.n_heads(), of.n()}) : nullptr;
      use(of.threads);
      double& peak = peaks[of.threads];
      peak = std::max(peak, fma_peak(kProbeSeconds));
      Tensor<float> y = run(of, sink);
      const auto begin = Clock::now();
      do {
        const auto start = Clock::now();
        y = run(of, sink);
        runs[i].push_back(1e3 * seconds_since(start));
      } while (seconds_since(begin) < kRoundSeconds);
      peak = std::max(peak, fma_peak(kProbeSeconds));
      times[i].threads = threads_in_use();
    }
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<double>& ms = runs[i];
    const auto middle = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2);
    std::ranges::nth_element(ms, middle);
    times[i].ms_median = *middle;
    times[i].ms_min = std::ranges::min(ms);
    times[i].peak = peaks[cases[i].threads];
  }
  return times;
}

}  // namespace mha
