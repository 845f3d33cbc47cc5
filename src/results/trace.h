#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "files/archive.h"
#include "files/whole_file.h"
#include "results/compare.h"
#include "results/sink.h"
#include "results/traced_run.h"

namespace mha {

// Keeps steps of a run in memory and writes them as one .npz: a member a step,
// in order of computation.
template <typename T>
class TraceFile {
 public:
  // `only`: names from --trace-only; empty: all steps. Throws Error for a name
  // that is no step, Error(Fault::system) where the steps together do not fit
  // in memory, saying how much they need, or on the disk, or where the file
  // cannot be opened.
  TraceFile(const std::string& path, const std::vector<std::string>& only,
            const TracedRun& run);
  // Asks for the steps. This object must outlive the run, and not move.
  void watch(StackSinks<T>& sinks);
  // REQUIRES: the run is over.
  void write();
  WholeFile& file() { return file_; }

 private:
  struct Kept {
    RunStep step;
    std::string name;
    Collect<T> values;
  };
  static std::vector<Kept> keep(const std::string& path, const std::vector<std::string>& only,
                                const TracedRun& run);
  static std::size_t bytes_of(const std::vector<Kept>& kept);

  std::vector<Kept> kept_;
  WholeFile file_;
};

// Compares the steps that a file holds with those of a run.
template <typename T>
class ExpectedTrace {
 public:
  // Throws Error for a name of the file that is no step or a shape that is not
  // the run's, Error(Fault::system) where the values do not fit in memory.
  ExpectedTrace(const Archive& archive, const TracedRun& run, const Tolerance& tolerance);
  // Asks for the steps. This object must outlive the run, and not move.
  void watch(StackSinks<T>& sinks);
  // In order of computation. REQUIRES: the run is over.
  std::vector<Verdict> verdicts() const;

 private:
  struct Checked {
    RunStep step;
    Compare<T> values;
  };
  std::vector<Checked> checked_;
};

}  // namespace mha
