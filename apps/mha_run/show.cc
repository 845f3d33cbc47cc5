#include "mha_run/show.h"

#include <algorithm>
#include <cstddef>

#include "heads/heatmap.h"
#include "heads/map_grid.h"
#include "terminal.h"

namespace mha {
namespace {

std::vector<std::string> labels_or_positions(const std::vector<std::string>& labels,
                                             std::size_t count) {
  std::vector<std::string> names = labels;
  for (std::size_t i = names.size(); i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

template <typename T>
std::string draw_maps(const Tensor<T>& maps, const std::vector<std::string>& heads,
                      const RunInputs<T>& inputs) {
  const std::size_t batch = inputs.run.axes.batch;
  const Screen screen = screen_of("auto", {});
  MapGrid grid;
  grid.heads = heads;
  for (const TracedLayer& layer : inputs.run.layers) grid.layers.push_back(layer.index);
  grid.stack = grid.layers.size() > 1;
  grid.queries = labels_or_positions(inputs.query_labels, inputs.run.axes.n_queries);
  grid.keys = labels_or_positions(inputs.key_labels, maps.shape().back());
  std::string text;
  for (std::size_t item = 0; item < batch; ++item) {
    grid.title = batch > 1 ? "item " + std::to_string(item) : "";
    grid.map = [&](std::size_t layer, std::size_t head) {
      const ConstMatrixView<T> matrix =
          maps.matrix((layer * batch + item) * heads.size() + head);
      Tensor<float> map({matrix.rows, matrix.cols});
      std::transform(matrix.data, matrix.data + map.size(), map.data(),
                     [](T weight) { return static_cast<float>(weight); });
      return map;
    };
    text += "\n" + heatmap(grid, {screen.colours, screen.columns, 0});
  }
  return text;
}

template std::string draw_maps(const Tensor<float>&, const std::vector<std::string>&,
                               const RunInputs<float>&);
template std::string draw_maps(const Tensor<double>&, const std::vector<std::string>&,
                               const RunInputs<double>&);

}  // namespace mha
