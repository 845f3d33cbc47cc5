#pragma once

#include <memory>
#include <string>

#include "mha_run/inputs.h"
#include "mha_run/options.h"
#include "results/compare.h"
#include "results/head_report.h"
#include "results/maps_file.h"
#include "results/report.h"
#include "results/trace.h"

namespace mha {

// Everything that a run shows: files, comparisons, the report. Made before
// anything is computed, so that what can be refused is refused then; watched
// while the layer runs; finished afterwards.
template <typename T>
class RunOutputs {
 public:
  // Throws Error. `options` and `inputs` must outlive it.
  RunOutputs(const RunOptions& options, const RunInputs<T>& inputs);
  RunOutputs(const RunOutputs&) = delete;

  StackSinks<T>& sinks() { return sinks_; }

  // Writes the files, all of them or none, and prints the report, what was found
  // of heads and the comparison. Returns the exit status: 0, or 1 where a
  // comparison failed.
  int finish(const Tensor<T>& y, const HeadReport& heads);

 private:
  void open_maps();
  void expect_values();
  std::string head_name(std::size_t place) const;  // of the maps that were chosen
  MapsMembers maps_members() const;
  std::string report(const Tensor<T>& y) const;
  void print_json(const Tensor<T>& y, const HeadReport& heads) const;
  void print_beside(const std::string& text) const;
  int print_verdicts(bool on_stderr) const;

  const RunOptions& options_;
  const RunInputs<T>& inputs_;
  std::string y_path_;  // "-" too where a bare --format asks for y on stdout
  Shape maps_shape_;
  StackSinks<T> sinks_;
  SelectHeads<T> select_;
  std::vector<std::unique_ptr<FromLayer<T>>> from_layers_;  // into select_
  std::unique_ptr<WholeFile> y_file_;
  std::unique_ptr<WholeFile> maps_file_;
  std::unique_ptr<NpyStream<T>> maps_stream_;  // into maps_file_, or …
  std::unique_ptr<Collect<T>> maps_kept_;      // for it, or for a report in JSON
  std::unique_ptr<Collect<T>> maps_shown_;     // as a picture
  std::unique_ptr<TraceFile<T>> trace_;
  std::unique_ptr<Excerpt<T>> maps_excerpt_;
  std::unique_ptr<Compare<T>> y_check_, maps_check_;
  std::unique_ptr<ExpectedTrace<T>> trace_check_;
};

// What is said beside results: on stdout, on stderr where stdout carries a result.
void print_beside(const RunOptions& options, const std::string& text);

}  // namespace mha
