#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "files/format.h"
#include "input/words.h"
#include "kernels/linear.h"
#include "log.h"
#include "model_options.h"
#include "results/compare.h"

namespace mha {

// The command line of mha-run, as it was understood. An empty path: not asked
// for.
struct RunOptions {
  // Model
  WeightsInput weights;
  std::vector<std::size_t> ablate;

  // Input
  std::string input;
  TextInput text;  // in place of it
  std::string key;
  std::string value;
  std::vector<std::string> labels;
  std::vector<std::string> keep_masks;
  std::vector<std::string> drop_masks;
  std::vector<std::string> add_masks;
  std::vector<std::size_t> key_lengths;

  // Results
  std::string output;
  std::string maps;
  std::vector<std::size_t> map_heads;
  bool average_heads = false;
  std::string trace;
  std::vector<std::string> trace_only;
  std::optional<Format> format;
  bool full = false;
  bool show = false;
  bool head_report = false;
  bool early_fusion = false;

  // Comparison
  std::string expect;
  std::string expect_maps;
  std::string expect_trace;
  Tolerance tolerance;

  // Run
  bool f64 = false;
  std::optional<std::size_t> threads;
  Gemm gemm = Gemm::automatic;
  bool dry_run = false;
  Loudness loudness = Loudness::normal;

  // Whether the run ends in a report: nothing else was asked for.
  bool reports() const {
    return output.empty() && maps.empty() && trace.empty() && expect.empty() &&
           expect_maps.empty() && expect_trace.empty() && !head_report;
  }
};

// What the command line asked for: a run, or a text to print (--help,
// --version).
struct Request {
  RunOptions options;
  std::string text;  // not empty: print this and stop
};

// Throws Error for a command line that is wrong: one line that names the option,
// and for an unknown one the nearest known.
Request parse_run_options(int argc, const char* const* argv);

}  // namespace mha
