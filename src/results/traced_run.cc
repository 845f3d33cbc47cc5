#include "results/traced_run.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "files/names.h"

namespace mha {

std::vector<RunStep> TracedRun::steps() const {
  std::vector<RunStep> all;
  for (std::size_t place = 0; place < layers.size(); ++place) {
    for (const Step step : steps_of(layers[place].settings)) all.push_back({place, step});
  }
  if (last_norm) all.push_back({layers.size(), Step::norm});
  if (is_stack()) all.push_back({layers.size(), Step::y});
  return all;
}

std::string TracedRun::name_of(const RunStep& step) const {
  const std::string name(mha::name_of(step.step));
  if (!is_stack() || step.place == layers.size()) return name;
  return "layers." + std::to_string(layers[step.place].index) + "." + name;
}

Shape TracedRun::shape_of(const RunStep& step) const {
  const TracedLayer& layer = layers[std::min(step.place, layers.size() - 1)];
  return with_batch(mha::shape_of(step.step, layer.sizes, axes.n_queries, axes.n_keys));
}

std::size_t TracedRun::heads_of(const RunStep& step) const {
  const Shape shape = shape_of(step);
  return shape.size() - (batched ? 1 : 0) == 3 ? shape[shape.size() - 3] : 1;
}

Shape TracedRun::with_batch(Shape item_shape) const {
  if (batched) item_shape.insert(item_shape.begin(), axes.batch);
  return item_shape;
}

Shape TracedRun::maps_shape(std::size_t n_maps) const {
  const AttentionSizes& sizes = layers.front().sizes.attention;
  Shape shape = with_batch({n_maps, axes.n_queries, sizes.columns(axes.n_keys)});
  if (layers.size() > 1) shape.insert(shape.begin(), layers.size());
  return shape;
}

std::vector<RunStep> steps_named(const std::vector<std::string>& names, const TracedRun& run,
                                 const std::string& where) {
  const std::vector<RunStep> all = run.steps();
  if (names.empty()) return all;
  std::vector<std::string> known;
  for (const RunStep& step : all) known.push_back(run.name_of(step));

  std::vector<RunStep> steps;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      throw Error(where + ": '" + printable(name) + "' is no step" +
                  did_you_mean(name, known) + " (the steps are " + list_of(known, kSteps) +
                  ")");
    }
    steps.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  // In a layer steps come as its norms stand, not as the enumeration lists them.
  std::vector<RunStep> in_order;
  std::ranges::copy_if(all, std::back_inserter(in_order), [&](const RunStep& step) {
    return std::ranges::find(steps, step) != steps.end();
  });
  return in_order;
}

}  // namespace mha
