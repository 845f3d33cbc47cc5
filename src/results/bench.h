#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// What is timed: one post-norm layer of heads that share d_model, without masks,
// over a sequence. Model and x are borrowed.
struct BenchCase {
  const Encoder<float>* model = nullptr;
  const Tensor<float>* x = nullptr;  // [n, d_model]
  std::size_t threads = 1;
  bool maps = false;  // written to memory, too

  const Layer<float>& layer() const { return model->layers.front(); }
  std::size_t n() const { return x->shape()[0]; }
  std::size_t d_model() const { return x->shape()[1]; }
  std::size_t n_heads() const { return layer().attention.sizes.n_heads; }
  bool causal() const { return layer().settings.attention.causal != Causal::off; }
  bool whole_layer() const { return layer().settings.part == Part::layer; }
};

// Floating-point operations of the products, multiply and add as two:
//   8 n d_model² + 4 n² d_model, causal half of the n² part,
//   + 4 n d_model d_ff of a whole layer.
// n_heads is not in it.
double flops_of(const BenchCase& of);

// How far the f32 results are from those of the f64 path on the same numbers.
struct BenchCheck {
  std::size_t queries = 0;  // whose y and maps were compared
  double y_error = 0.0;     // the largest difference, over the largest |y|
  double map_error = 0.0;   // of an entry; 0 where there are no maps
  double sum_error = 0.0;   // of a map row's sum from 1
  bool passed() const { return y_error <= 1e-5 && map_error <= 1e-6 && sum_error <= 1e-6; }
};

inline constexpr double kCheckedWhole = 1.5e10;

// Runs the case and compares. Where that is more than `most_flops`, 64 queries
// drawn at random (the first and the last among them) are compared, over all keys.
BenchCheck check_case(const BenchCase& of, double most_flops = kCheckedWhole);

struct BenchTimes {
  double ms_min = 0.0;  // of single runs
  double ms_median = 0.0;
  double peak = 0.0;        // fma_peak() on as many threads, the best during all rounds
  std::size_t threads = 1;  // that could be started
};

// Times the cases in turns, so that what the machine does beside hits them alike: a
// round of a case is a run to warm up, then runs for about 50 ms, one at least.
std::vector<BenchTimes> time_cases(std::span<const BenchCase> cases, std::size_t rounds);

}  // namespace mha
