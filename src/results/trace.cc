#include "results/trace.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"
#include "files/npz.h"

namespace mha {
namespace {

std::vector<Step> attention_steps() { return steps_of({.part = Part::attention}); }

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Step step : attention_steps()) names.emplace_back(name_of(step));
  return names;
}

Step require_step(const std::string& name, const std::string& where) {
  if (const auto step = step_named(name)) return *step;
  const std::vector<std::string> names = all_names();
  throw Error(where + ": '" + printable(name) + "' is no step" + did_you_mean(name, names) +
              " (the steps are " + list_of(names) + ")");
}

// Throws where these steps of a run do not fit in memory.
void require_memory_for(const std::vector<Step>& steps, const TracedRun& run,
                        std::size_t element_size, const std::string& what,
                        const std::string& remedy) {
  std::size_t total = 0;
  std::size_t largest = 0;
  Step largest_step = steps.front();
  for (const Step step : steps) {
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
                     " (the largest: " + std::string(name_of(largest_step)) + " " +
                     to_string(run.shape_of(largest_step)) +
                     (element_size == sizeof(float) ? " f32)" : " f64)"),
                 remedy);
}

}  // namespace

Shape TracedRun::with_batch(Shape item_shape) const {
  if (batched) item_shape.insert(item_shape.begin(), axes.batch);
  return item_shape;
}

Shape TracedRun::shape_of(Step step) const {
  return with_batch(mha::shape_of(step, {sizes}, axes.n_queries, axes.n_keys));
}

std::size_t TracedRun::heads_of(Step step) const {
  const Shape shape = mha::shape_of(step, {sizes}, axes.n_queries, axes.n_keys);
  return shape.size() == 3 ? shape.front() : 1;
}

std::vector<Step> steps_named(const std::vector<std::string>& names,
                              const std::string& where) {
  if (names.empty()) return attention_steps();
  std::vector<Step> steps;
  steps.reserve(names.size());
  for (const std::string& name : names) steps.push_back(require_step(name, where));
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

template <typename T>
TraceFile<T>::TraceFile(const std::string& path, const std::vector<std::string>& only,
                        const TracedRun& run)
    : kept_(keep(path, only, run)), file_(path, bytes_of(kept_)) {}

template <typename T>
std::vector<typename TraceFile<T>::Kept> TraceFile<T>::keep(
    const std::string& path, const std::vector<std::string>& only, const TracedRun& run) {
  const std::vector<Step> steps = steps_named(only, "--trace-only");
  require_memory_for(steps, run, sizeof(T), path + ": a trace",
                     "--trace-only keeps only the steps it names");
  std::vector<Kept> kept;
  kept.reserve(steps.size());
  for (const Step step : steps) {
    kept.push_back({step, Collect<T>(run.shape_of(step), run.heads_of(step),
                                     path + ": " + std::string(name_of(step)))});
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
void TraceFile<T>::watch(Sinks<T>& sinks) {
  for (Kept& kept : kept_) sinks.add(kept.step, kept.values);
}

template <typename T>
void TraceFile<T>::write() {
  ZipWriter zip(file_);
  for (const Kept& kept : kept_) {
    add_npy(zip, std::string(name_of(kept.step)), kept.values.tensor());
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
  const std::vector<Step> steps = steps_named(names, archive.path);

  for (const Step step : steps) {
    const Member* member = archive.find(name_of(step));
    require_shape(member != nullptr ? member->shape : Shape{},  // a 0-d array is a setting
                  run.shape_of(step), archive.path, std::string(name_of(step)));
  }
  for (const Step step : steps) {
    const Member& member = archive.at(name_of(step));
    checked_.push_back({step, Compare<T>(member.name, ExpectedValues<T>(archive, member),
                                         run.heads_of(step), tolerance)});
  }
}

template <typename T>
void ExpectedTrace<T>::watch(Sinks<T>& sinks) {
  for (Checked& checked : checked_) sinks.add(checked.step, checked.values);
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
