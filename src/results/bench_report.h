#pragma once

#include <span>
#include <string>

#include "results/bench.h"

namespace mha {

// What came of a case.
struct BenchResult {
  BenchCase of;
  BenchCheck check;
  BenchTimes times;
};

// For people: a row a case, before it what the columns mean and what `units` says
// of the machine. All cases are of one d_model, part and direction.
std::string bench_table(std::span<const BenchResult> results, const std::string& units);

// What a sweep over n_heads or n shows, a line for each n and number of threads.
std::string heads_sweep_text(std::span<const BenchResult> results);
std::string n_sweep_text(std::span<const BenchResult> results);

// For scripts: a list with an object a case.
std::string bench_json(std::span<const BenchResult> results);

// "n 128, 8 heads, 2 threads": how messages name a case.
std::string name_of(const BenchCase& of);
// "y of 64 of 8192 queries differs from f64 by up to 2e-07 of the largest |y|, …"
std::string check_text(const BenchCase& of, const BenchCheck& check);

}  // namespace mha
