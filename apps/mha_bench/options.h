#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/linear.h"
#include "layer/settings.h"
#include "log.h"

namespace mha {

// The command line of mha-bench, as it was understood: a case for each number of
// threads, n and number of heads.
struct BenchOptions {
  enum class Sweep { none, heads, n };

  std::size_t d_model = 512;
  std::vector<std::size_t> n_heads = {8};
  std::vector<std::size_t> n = {128, 2048};
  std::vector<std::size_t> threads;  // empty: one, and as many as there are
  Sweep sweep = Sweep::none;
  bool maps = false;
  Part part = Part::attention;
  bool causal = false;
  std::size_t d_ff = 2048;
  Activation activation = Activation::gelu;
  Gemm gemm = Gemm::automatic;
  std::size_t rounds = 10;
  bool json = false;
  Loudness loudness = Loudness::normal;
};

struct BenchRequest {
  BenchOptions options;
  std::string text;  // not empty: print this and stop
};

// Throws Error for a command line that is wrong: one line that names the option,
// and for an unknown one the nearest known.
BenchRequest parse_bench_options(int argc, const char* const* argv);

}  // namespace mha
