#include "results/watch_heads.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/memory.h"
#include "heads/measure_heads.h"
#include "kernels/gemm.h"

namespace mha {
namespace {

constexpr std::size_t kRows = 64;  // of a contribution at a time

// Hands a step's blocks to a function, in order.
template <typename T>
class HandTo final : public Sink<T> {
 public:
  using Take = std::function<void(const Place&, ConstMatrixView<T>)>;
  explicit HandTo(Take take) : take_(std::move(take)) {}
  void rows(const Place& place, ConstMatrixView<T> block) override { take_(place, block); }

 private:
  Take take_;
};

template <typename T>
double dot(ConstMatrixView<T> a, ConstMatrixView<T> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.cols; ++j) {
      sum += static_cast<double>(a(i, j)) * static_cast<double>(b(i, j));
    }
  }
  return sum;
}

}  // namespace

// The heads of one layer.
template <typename T>
class WatchHeads<T>::Layer {
 public:
  Layer(const WatchHeads& all, std::size_t place)
      : all_(all),
        place_(place),
        weights_(all.run_.encoder.layers[place].attention),
        maps_(weights_.sizes.n_heads),
        shares_(weights_.sizes.n_heads, 0.0),
        cosines_(weights_.sizes.n_heads, 0.0),
        maps_sink_([this](const Place& at, auto block) { take_maps(at, block); }),
        reads_sink_([this](const Place& at, auto block) { take_reads(at, block); }),
        output_sink_([this](const Place& at, auto block) { take_output(at, block); }) {
    const MaskAxes& axes = all.run_.run.axes;
    const AttentionSizes& sizes = weights_.sizes;
    const std::size_t width = sizes.n_heads * sizes.d_v;
    require_memory((axes.n_queries * width + kRows * sizes.d_model) * sizeof(T),
                   "--head-report");
    reads_ = Tensor<T>({axes.n_queries, width});
    contribution_ = Tensor<T>({kRows, sizes.d_model});
    if (place > 0) x_.emplace(all.run_.inputs.x.shape(), 1, "--head-report");
  }

  void watch(Sinks<T>& sinks) {
    sinks.add(Step::maps, maps_sink_);
    sinks.add(Step::concat, reads_sink_);
    sinks.add(Step::attention_output, output_sink_);
    if (x_) sinks.add(Step::x, *x_);
  }

  const Tensor<T>& x() const { return x_ ? x_->tensor() : all_.run_.inputs.x; }

  HeadInRun head(std::size_t head, ConstMatrixView<double> distances) const {
    const double items = all_.items_with_queries();
    HeadInRun found;
    found.head = head;
    found.map = maps_.measures(head);
    found.share = shares_[head] / items;
    found.cosine = cosines_[head] / items;
    const std::size_t nearest = nearest_head(distances, head);
    if (nearest != head) {
      found.nearest = nearest;
      found.distance = distances(head, nearest);
    }
    return found;
  }

  Tensor<double> distances() const { return maps_.distances(); }

 private:
  // The heads of one range of rows come one after another.
  void take_maps(const Place& at, ConstMatrixView<T> block) {
    const std::size_t n_heads = weights_.sizes.n_heads;
    if (const Shape shape{n_heads, block.rows, block.cols}; range_.shape() != shape) {
      range_ = Tensor<T>(shape);
    }
    const MatrixView<T> kept = range_.matrix(at.head);
    for (std::size_t i = 0; i < block.rows; ++i) {
      std::copy_n(block.row(i), block.cols, kept.row(i));
    }
    if (at.head + 1 < n_heads) return;

    const MaskAxes& axes = all_.run_.run.axes;
    const std::size_t queries = all_.queries_of(at.item);
    if (at.first_row >= queries) return;
    std::vector<ConstMatrixView<T>> heads;
    for (std::size_t head = 0; head < n_heads; ++head) {
      heads.push_back(
          range_.matrix(head).row_block(0, std::min(block.rows, queries - at.first_row)));
    }
    const FirstPositions first =
        first_positions(all_.run_.encoder.layers[place_].settings.attention.causal, axes);
    maps_.rows(static_cast<std::ptrdiff_t>(first.query + at.first_row) -
                   static_cast<std::ptrdiff_t>(first.key),
               std::span<const ConstMatrixView<T>>(heads),
               {all_.keys_of(at.item), block.cols - axes.n_keys, all_.run_.delimiters});
  }

  // They end with the call, and the output comes behind them.
  void take_reads(const Place& at, ConstMatrixView<T> concat) {
    for (std::size_t i = 0; i < concat.rows; ++i) {
      std::copy_n(concat.row(i), concat.cols, reads_.matrix().row(at.first_row + i));
    }
  }

  // Whole, as attention shows it: norms are of all rows.
  void take_output(const Place& at, ConstMatrixView<T> output) {
    assert(at.first_row == 0 && output.rows == all_.run_.run.axes.n_queries);
    const std::size_t d_v = weights_.sizes.d_v;
    const std::size_t queries = all_.queries_of(at.item);
    if (queries == 0) return;
    const double size =
        std::sqrt(dot(output.row_block(0, queries), output.row_block(0, queries)));
    const Tensor<T>& reads = reads_;
    for (std::size_t head = 0; head < weights_.sizes.n_heads; ++head) {
      double squares = 0.0;
      double product = 0.0;
      for (std::size_t first = 0; first < queries; first += kRows) {
        const std::size_t rows = std::min(kRows, queries - first);
        const MatrixView<T> part = contribution_.matrix().row_block(0, rows);
        gemm(T{1}, reads.matrix().row_block(first, rows).col_block(head * d_v, d_v),
             weights_.W_O.matrix().row_block(head * d_v, d_v), T{0}, part);
        squares += dot<T>(part, part);
        product += dot<T>(part, output.row_block(first, rows));
      }
      // 0 / 0 is no number.
      shares_[head] += std::sqrt(squares) / size;
      cosines_[head] += product / (std::sqrt(squares) * size);
    }
  }

  const WatchHeads& all_;
  const std::size_t place_;
  const AttentionWeights<T>& weights_;
  MeasureHeads maps_;
  std::vector<double> shares_, cosines_;  // sums over items
  Tensor<T> range_;                       // [n_heads, rows, columns]
  Tensor<T> reads_;                       // [n_queries, n_heads * d_v] of one item
  Tensor<T> contribution_;                // [kRows, d_model]
  HandTo<T> maps_sink_, reads_sink_, output_sink_;
  std::optional<Collect<T>> x_;  // what entered it
};

template <typename T>
WatchHeads<T>::WatchHeads(Run run) : run_(std::move(run)) {
  for (std::size_t place = 0; place < run_.encoder.layers.size(); ++place) {
    layers_.push_back(std::make_unique<Layer>(*this, place));
  }
}

template <typename T>
WatchHeads<T>::~WatchHeads() = default;

template <typename T>
void WatchHeads<T>::watch(StackSinks<T>& sinks) {
  for (std::size_t place = 0; place < layers_.size(); ++place) {
    layers_[place]->watch(sinks.at(place));
  }
}

template <typename T>
std::vector<HeadInRun> WatchHeads<T>::heads(const Tensor<T>& y) {
  std::vector<HeadInRun> all;
  for (std::size_t place = 0; place < layers_.size(); ++place) {
    const mha::Layer<T>& layer = run_.encoder.layers[place];
    const Tensor<double> distances = layers_[place]->distances();
    const bool y_is_output = place + 1 == layers_.size() &&
                             layer.settings.part == Part::attention && !run_.run.last_norm;
    for (std::size_t head = 0; head < layer.attention.sizes.n_heads; ++head) {
      HeadInRun found = layers_[place]->head(head, distances.matrix());
      if (run_.run.is_stack()) found.layer = layer.index;
      found.ablated = std::ranges::find(run_.ablated, head) != run_.ablated.end();
      if (!found.ablated) {
        found.ablation = y_is_output ? found.share : ablation(place, head, y);
      }
      all.push_back(found);
    }
  }
  return all;
}

template <typename T>
double WatchHeads<T>::ablation(std::size_t place, std::size_t head, const Tensor<T>& y) {
  AttentionWeights<T>& weights = run_.encoder.layers[place].attention;
  const std::size_t d_v = weights.sizes.d_v;
  const MatrixView<T> block = weights.W_O.matrix().row_block(head * d_v, d_v);
  const std::vector<T> kept(block.data, block.data + block.rows * block.cols);
  mha::ablate(weights, {head});
  const Tensor<T>& x = layers_[place]->x();
  StackObserver<T> nobody;
  AttentionFindings unread;
  const Tensor<T> without =
      place == 0 ? encode_from(place, run_.encoder, run_.mask, run_.inputs, nobody, unread)
                 : encode_from<T>(place, run_.encoder, run_.mask, {x, x, x}, nobody, unread);
  std::ranges::copy(kept, block.data);

  double sum = 0.0;
  for (std::size_t item = 0; item < run_.run.axes.batch; ++item) {
    const std::size_t rows = queries_of(item);
    if (rows == 0) continue;
    sum += change_of<T>(y.matrix(item).row_block(0, rows),
                        without.matrix(item).row_block(0, rows))
               .relative;
  }
  return sum / items_with_queries();
}

template <typename T>
std::size_t WatchHeads<T>::keys_of(std::size_t item) const {
  const std::size_t n_keys = run_.run.axes.n_keys;
  const std::vector<std::size_t>& lengths = run_.mask.key_lengths;
  return lengths.empty() ? n_keys : std::min(lengths[item], n_keys);
}

// Where they are the keys' tokens, lengths are theirs too.
template <typename T>
std::size_t WatchHeads<T>::queries_of(std::size_t item) const {
  const bool self = &run_.inputs.key == &run_.inputs.x;
  return self ? std::min(keys_of(item), run_.run.axes.n_queries) : run_.run.axes.n_queries;
}

template <typename T>
double WatchHeads<T>::items_with_queries() const {
  double items = 0.0;
  for (std::size_t item = 0; item < run_.run.axes.batch; ++item) {
    if (queries_of(item) > 0) items += 1.0;
  }
  return items;
}

template class WatchHeads<float>;
template class WatchHeads<double>;

}  // namespace mha
