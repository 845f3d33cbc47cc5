#include "results/trace.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"
#include "files/npz.h"

namespace mha {
namespace {

// Throws where these steps of a run do not fit in memory.
void require_memory_for(const std::vector<RunStep>& steps, const TracedRun& run,
                        std::size_t element_size, const std::string& what,
                        const std::string& remedy) {
  std::size_t total = 0;
  std::size_t largest = 0;
  RunStep largest_step = steps.front();
  for (const RunStep& step : steps) {
    const std::size_t count = element_count(run.shape_of(step), what);
    const auto bytes = checked_multiply(count, element_size);
    if (!bytes || __builtin_add_overflow(total, *bytes, &total)) {
      total = std::numeric_limits<std::size_t>::max();
    }
    if (count > largest) {
      largest = count;
      largest_step = step;
    }
  }
  const std::string number = std::to_string(steps.size());
  require_memory(total,
                 what + " of " + number + (steps.size() == 1 ? " step" : " steps") +
                     " (the largest: " + run.name_of(largest_step) + " " +
                     to_string(run.shape_of(largest_step)) +
                     (element_size == sizeof(float) ? " f32)" : " f64)"),
                 remedy);
}

// In a stack the bare name of a layer's step means that step of every layer.
std::vector<std::string> in_every_layer(const std::vector<std::string>& names,
                                        const TracedRun& run) {
  const std::vector<RunStep> all = run.steps();
  std::vector<std::string> whole;
  for (const std::string& name : names) {
    const std::size_t before = whole.size();
    const bool of_stack = name == name_of(Step::y) || name == name_of(Step::norm);
    for (const RunStep& step : all) {
      if (of_stack || name_of(step.step) != name) continue;
      whole.push_back(run.name_of(step));
    }
    if (whole.size() == before) whole.push_back(name);
  }
  return whole;
}

}  // namespace

template <typename T>
TraceFile<T>::TraceFile(const std::string& path, const std::vector<std::string>& only,
                        const TracedRun& run)
    : kept_(keep(path, only, run)), file_(path, bytes_of(kept_)) {}

template <typename T>
std::vector<typename TraceFile<T>::Kept> TraceFile<T>::keep(
    const std::string& path, const std::vector<std::string>& only, const TracedRun& run) {
  const std::vector<RunStep> steps =
      steps_named(in_every_layer(only, run), run, "--trace-only");
  require_memory_for(steps, run, sizeof(T), path + ": a trace",
                     "--trace-only keeps only the steps it names");
  std::vector<Kept> kept;
  kept.reserve(steps.size());
  for (const RunStep& step : steps) {
    const std::string name = run.name_of(step);
    kept.push_back(
        {step, name, Collect<T>(run.shape_of(step), run.heads_of(step), path + ": " + name)});
  }
  return kept;
}

template <typename T>
std::size_t TraceFile<T>::bytes_of(const std::vector<Kept>& kept) {
  std::size_t bytes = 0;
  for (const Kept& step : kept) bytes += step.values.tensor().size() * sizeof(T);
  return bytes;
}

template <typename T>
void TraceFile<T>::watch(StackSinks<T>& sinks) {
  for (Kept& kept : kept_) sinks.at(kept.step.place).add(kept.step.step, kept.values);
}

template <typename T>
void TraceFile<T>::write() {
  ZipWriter zip(file_);
  for (const Kept& kept : kept_) {
    add_npy(zip, kept.name, kept.values.tensor());
  }
  zip.finish();
}

template <typename T>
ExpectedTrace<T>::ExpectedTrace(const Archive& archive, const TracedRun& run,
                                const Tolerance& tolerance) {
  std::vector<std::string> names;
  for (const Member& member : archive.members) names.push_back(member.name);
  for (const auto& [name, value] : archive.settings) names.push_back(name);
  if (names.empty()) throw Error(archive.path + ": holds no steps to compare");
  if (names.front().empty()) {
    throw Error(archive.path + ": holds one array without a name, expected steps by name");
  }
  const std::vector<RunStep> steps = steps_named(names, run, archive.path);

  for (const RunStep& step : steps) {
    const std::string name = run.name_of(step);
    const Member* member = archive.find(name);
    require_shape(member != nullptr ? member->shape : Shape{},  // a 0-d array is a setting
                  run.shape_of(step), archive.path, name);
  }
  for (const RunStep& step : steps) {
    const Member& member = archive.at(run.name_of(step));
    checked_.push_back({step, Compare<T>(member.name, ExpectedValues<T>(archive, member),
                                         run.heads_of(step), tolerance)});
  }
}

template <typename T>
void ExpectedTrace<T>::watch(StackSinks<T>& sinks) {
  for (Checked& checked : checked_)
    sinks.at(checked.step.place).add(checked.step.step, checked.values);
}

template <typename T>
std::vector<Verdict> ExpectedTrace<T>::verdicts() const {
  std::vector<Verdict> verdicts;
  for (const Checked& checked : checked_) verdicts.push_back(checked.values.verdict());
  return verdicts;
}

template class TraceFile<float>;
template class TraceFile<double>;
template class ExpectedTrace<float>;
template class ExpectedTrace<double>;

}  // namespace mha
