#include "layer/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "kernels/attend.h"
#include "kernels/gemm.h"
#include "layer/fused_heads.h"
#include "layer/head_inputs.h"
#include "layer/overflow.h"
#include "layer/projection.h"
#include "layer/relative_bias.h"

namespace mha {
namespace {

// A block of score rows stays in a core's level-2 and level-3 cache.
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
constexpr std::size_t kMostBlockRows = 128;  // more rows make no GEMM faster

// The work on a few items of the batch after another, in buffers of so many.
template <typename T>
class Run {
 public:
  Run(const AttentionWeights<T>& weights, const AttentionSettings& settings,
      const Mask<T>& mask, const MaskAxes& axes, Observer<T>& observer,
      AttentionFindings& findings)
      : weights_(weights),
        settings_(settings),
        mask_(mask),
        axes_(axes),
        observer_(observer),
        findings_(findings),
        items_(HeadInputs<T>::items_at_a_time(weights.sizes, axes)),
        scale_(static_cast<T>(scale_of(settings, weights.sizes.d_head))) {
    const AttentionSizes& sizes = weights.sizes;
    const std::size_t columns = sizes.columns(axes.n_keys);
    const std::size_t block_rows = score_block_rows(axes.n_queries, columns, sizeof(T));
    const std::size_t contribution_rows =
        observer.wants(Step::contributions) ? axes.n_queries : 0;
    const std::size_t distances =
        weights.relative_bias.empty() ? 0 : axes.n_queries + axes.n_keys - 1;
    const std::size_t blocks = settings.early_fusion ? 2 : 1;
    std::size_t elements = HeadInputs<T>::size_of(sizes, axes) +
                           blocks * block_rows * columns + contribution_rows * sizes.d_model +
                           sizes.n_heads * distances;
    if (std::is_same_v<T, float> && FusedHeads::serve(sizes)) {
      elements += FusedHeads::size_of(sizes, axes, observer.wants(Step::scores),
                                      observer.wants(Step::maps));
    }
    require_memory(elements * sizeof(T), "attention over " + std::to_string(axes.n_queries) +
                                             " queries and " + std::to_string(axes.n_keys) +
                                             " keys");
    head_inputs_.emplace(weights, settings, axes);
    contribution_ = Tensor<T>({contribution_rows, sizes.d_model});
    if (distances > 0) {
      bias_ = bias_by_distance(weights.relative_bias, settings.relative_distance, axes,
                               first_positions(settings.causal, axes));
    }
    if constexpr (std::is_same_v<T, float>) {
      // What is added to bounded scores (scores_are_bounded()) must not make them overflow.
      const auto added = weights.relative_bias.values();
      const bool fits = std::all_of(added.begin(), added.end(), [](float value) {
        return std::abs(value) <= std::numeric_limits<float>::max() / 2.0F;
      });
      if (FusedHeads::serve(sizes) && fits && !settings.early_fusion) {
        fused_.emplace(sizes, settings, mask, axes, bias_, observer);
      }
    }
  }

  // All of x, key and value, and y, items under one another.
  void items(ConstMatrixView<T> x, ConstMatrixView<T> key, ConstMatrixView<T> value,
             MatrixView<T> y) {
    for (std::size_t first = 0; first < axes_.batch; first += items_) {
      const std::size_t count = std::min(items_, axes_.batch - first);
      const auto of_items = [&](auto rows, std::size_t n) {
        return rows.row_block(first * n, count * n);
      };
      some_items(first, count, of_items(x, axes_.n_queries), of_items(key, axes_.n_keys),
                 of_items(value, axes_.n_keys), of_items(y, axes_.n_queries));
    }
  }

 private:
  // Items from `first` on.
  void some_items(std::size_t first, std::size_t count, ConstMatrixView<T> x,
                  ConstMatrixView<T> key, ConstMatrixView<T> value, MatrixView<T> y) {
    const AttentionSizes& sizes = weights_.sizes;
    head_inputs_->make(x, key, value);
    std::vector<bool> bounded(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t item = first + i;
      const ConstMatrixView<T> q = head_inputs_->q(i);
      const ConstMatrixView<T> k = head_inputs_->k(i);
      const ConstMatrixView<T> v = head_inputs_->v(i);
      // Where the scores are bounded, q and k are finite.
      bounded[i] = fused_ && are_bounded(q, k);
      if (!bounded[i]) require_step_in_range(Step::q, item, q);
      show(Step::q, item, sizes.n_heads, q);
      if (!bounded[i]) require_step_in_range(Step::k, item, k);
      show(Step::k, item, sizes.n_kv_heads, k);
      require_step_in_range(Step::v, item, v);
      show(Step::v, item, sizes.n_kv_heads, v);
    }
    // As many as there are in a row that the fused kernels may do, or one that they may not.
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i;
      while (end < count && bounded[end]) ++end;
      if (end > i) {
        attend_fused(first, i, end - i);
      } else {
        attend_plainly(first, i);
        end = i + 1;
      }
      i = end;
    }
    project<T>(head_inputs_->concat_rows(count), weights_.W_O, weights_.b_O, y);
    for (std::size_t i = 0; i < count; ++i) {
      const ConstMatrixView<T> reads = head_inputs_->concat(i);
      show(Step::head_outputs, first + i, sizes.n_heads, reads);
      show(Step::concat, first + i, 1, reads);
      show_contributions(first + i, reads);
      const ConstMatrixView<T> output = y.row_block(i * axes_.n_queries, axes_.n_queries);
      require_step_in_range(Step::attention_output, first + i, output);
      show(Step::attention_output, first + i, 1, output);
    }
  }

  bool are_bounded(ConstMatrixView<T> q, ConstMatrixView<T> k) const {
    if constexpr (std::is_same_v<T, float>) {
      return scores_are_bounded(q, k, scale_of(settings_, weights_.sizes.d_head));
    }
    return false;
  }

  // By the fused kernels: `count` from the i-th of the items from `first_item` on.
  void attend_fused(std::size_t first_item, std::size_t i, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      const AttentionFindings found = fused_->items(first_item, i, count, *head_inputs_);
      findings_.empty_rows += found.empty_rows;
      findings_.leaking_keys += found.leaking_keys;
    }
  }

  // The i-th of the items from `first_item` on.
  void attend_plainly(std::size_t first_item, std::size_t i) {
    const AttentionSizes& sizes = weights_.sizes;
    if (scores_.empty()) {
      scores_ =
          Tensor<T>({score_block_rows(axes_.n_queries, sizes.columns(axes_.n_keys), sizeof(T)),
                     sizes.columns(axes_.n_keys)});
    }
    for (std::size_t first = 0; first < axes_.n_queries; first += scores_.shape()[0]) {
      const std::size_t rows = std::min(scores_.shape()[0], axes_.n_queries - first);
      for (std::size_t head = 0; head < sizes.n_heads; ++head) {
        attend({first_item + i, head, first}, i, scores_.matrix().row_block(0, rows));
      }
      if (settings_.early_fusion) read_with_mean(i, first);
    }
  }

  // One block of query rows of one head: scores, map, head output.
  void attend(const Place& at, std::size_t i, MatrixView<T> scores) {
    const AttentionSizes& sizes = weights_.sizes;
    const std::size_t kv_head = sizes.kv_head_of(at.head);
    const auto q = head_inputs_->q(i)
                       .row_block(at.first_row, scores.rows)
                       .col_block(at.head * sizes.d_head, sizes.d_head);
    const auto k = head_inputs_->k(i).col_block(kv_head * sizes.d_head, sizes.d_head);

    gemm_transposed(scale_, q, k, T{0}, scores);
    require_scores_in_range(at, scores);
    if (settings_.softcap > 0.0) cap_scores(scores, static_cast<T>(settings_.softcap));
    // Masks and positions know the keys of the input alone.
    const MatrixView<T> of_input = scores.col_block(0, axes_.n_keys);
    if (!bias_.empty()) {
      add_by_distance<T>({bias_.matrix().row(at.head), bias_.shape()[1]}, axes_.n_queries,
                         at.first_row, 0, of_input);
      require_scores_in_range(at, of_input);
    }
    apply_mask(mask_, settings_, axes_, at.item, at.head, at.first_row, 0, of_input);
    if (observer_.wants(Step::scores)) observer_.rows(Step::scores, at, scores);
    findings_.empty_rows += softmax_rows(scores);
    findings_.leaking_keys += count_leaks<T>(mask_, at.item, at.head, at.first_row, of_input);
    if (observer_.wants(Step::maps)) observer_.rows(Step::maps, at, scores);
    if (settings_.early_fusion) {
      add_to_mean(at.head, scores);
    } else {
      read(i, at.head, at.first_row, scores);
    }
  }

  // head_outputs of these query rows: the weights times the head's values.
  void read(std::size_t i, std::size_t head, std::size_t first_row,
            ConstMatrixView<T> weights) {
    const AttentionSizes& sizes = weights_.sizes;
    const auto v = head_inputs_->v(i).col_block(sizes.kv_head_of(head) * sizes.d_v, sizes.d_v);
    gemm(T{1}, weights, v, T{0},
         head_inputs_->concat(i)
             .row_block(first_row, weights.rows)
             .col_block(head * sizes.d_v, sizes.d_v));
  }

  void add_to_mean(std::size_t head, ConstMatrixView<T> map) {
    if (head == 0) mean_ = Tensor<T>::zeros({map.rows, map.cols});
    const auto heads = static_cast<T>(weights_.sizes.n_heads);
    for (std::size_t i = 0; i < map.rows; ++i) {
      T* mean = mean_.matrix().row(i);
      for (std::size_t j = 0; j < map.cols; ++j) mean[j] += map(i, j) / heads;
    }
  }

  // Once all heads have given their maps: what a head reads may overwrite its queries.
  void read_with_mean(std::size_t i, std::size_t first_row) {
    const Tensor<T>& mean = mean_;
    for (std::size_t head = 0; head < weights_.sizes.n_heads; ++head) {
      read(i, head, first_row, mean.matrix());
    }
  }

  void show_contributions(std::size_t item, ConstMatrixView<T> concat) {
    if (!observer_.wants(Step::contributions)) return;
    const AttentionSizes& sizes = weights_.sizes;
    for (std::size_t head = 0; head < sizes.n_heads; ++head) {
      gemm(T{1}, concat.col_block(head * sizes.d_v, sizes.d_v),
           weights_.W_O.matrix().row_block(head * sizes.d_v, sizes.d_v), T{0},
           contribution_.matrix());
      observer_.rows(Step::contributions, {item, head, 0}, contribution_.matrix());
    }
  }

  // A step whose heads lie side by side, head by head.
  void show(Step step, std::size_t item, std::size_t heads, ConstMatrixView<T> values) {
    if (!observer_.wants(step)) return;
    const std::size_t width = values.cols / heads;
    for (std::size_t head = 0; head < heads; ++head) {
      observer_.rows(step, {item, head, 0}, values.col_block(head * width, width));
    }
  }

  std::string item_prefix(std::size_t item) const {
    return axes_.batch > 1 ? "item " + std::to_string(item) + ", " : "";
  }

  void require_step_in_range(Step step, std::size_t item, ConstMatrixView<T> values) const {
    if (!settings_.allow_nonfinite) require_in_range(step, {item, 0, 0}, axes_.batch, values);
  }

  void require_scores_in_range(const Place& at, ConstMatrixView<T> scores) const {
    if (settings_.allow_nonfinite) return;
    const auto row = first_overflow(scores);
    if (!row) return;
    throw overflow_error<T>("attention scores of " + item_prefix(at.item) + "head " +
                            std::to_string(at.head) + ", query " +
                            std::to_string(at.first_row + *row));
  }

  const AttentionWeights<T>& weights_;
  const AttentionSettings& settings_;
  const Mask<T>& mask_;
  const MaskAxes axes_;
  Observer<T>& observer_;
  AttentionFindings& findings_;
  const std::size_t items_;  // at a time
  const T scale_;
  std::optional<FusedHeads> fused_;           // f32's, where they serve
  std::optional<HeadInputs<T>> head_inputs_;  // made once its memory is asked for
  Tensor<T> bias_;                            // [n_heads, n_queries + n_keys - 1], or empty
  Tensor<T> scores_;        // [score_block_rows, columns], then the map in its place
  Tensor<T> mean_;          // of all heads' maps of a block, where they are fused early
  Tensor<T> contribution_;  // [n_queries, d_model] of one head, where it is wanted
};

// Shape of one input, [batch, n, d] with batch 1 where there is no such axis.
struct InputShape {
  std::size_t batch, n, width;
};

InputShape input_shape(const std::string& name, const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) {
    throw Error(name + ": shape is " + to_string(shape) +
                ", expected [n, d] or [batch, n, d]");
  }
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) {
    throw Error(name + ": shape is " + to_string(shape) + ", expected at least one vector");
  }
  return {shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back()};
}

void require_width(const std::string& name, std::size_t found, std::size_t expected,
                   const char* what) {
  if (found == expected) return;
  throw Error(name + ": rows are " + std::to_string(found) + " wide, expected " +
              std::to_string(expected) + " (" + what + ")");
}

}  // namespace

template <typename T>
MaskAxes check_inputs(const AttentionSizes& sizes, const AttentionInputs<T>& inputs,
                      const InputNames& names) {
  const Tensor<T>& x = inputs.x;
  const Tensor<T>& key = inputs.key;
  const Tensor<T>& value = inputs.value;
  const std::string& key_name = &key == &x ? names.x : names.key;
  const std::string& value_name = &value == &key ? key_name : names.value;
  if (sizes.kv_rank > 0 && &value != &key) {
    throw Error(value_name +
                ": is another source than the keys', expected the same: latent "
                "attention reads both from one latent");
  }
  const InputShape query_shape = input_shape(names.x, x.shape());
  const InputShape key_shape = input_shape(key_name, key.shape());
  const InputShape value_shape = input_shape(value_name, value.shape());
  require_width(names.x, query_shape.width, sizes.d_model, "d_model");
  require_width(key_name, key_shape.width, sizes.d_key,
                sizes.kv_rank > 0 ? "d_key, the rows of W_DKV" : "d_key, the rows of W_K");
  require_width(value_name, value_shape.width, sizes.d_value, "d_value, the rows of W_V");
  for (const auto& [name, tensor, shape] : {std::tuple{&key_name, &key, key_shape},
                                            std::tuple{&value_name, &value, value_shape}}) {
    if (tensor->rank() == x.rank() && shape.batch == query_shape.batch) continue;
    throw Error(*name + ": shape is " + to_string(tensor->shape()) +
                ", expected the rank and batch of " + names.x + ", " + to_string(x.shape()));
  }
  if (value_shape.n != key_shape.n) {
    throw Error(value_name + ": has " + std::to_string(value_shape.n) + " rows, expected " +
                std::to_string(key_shape.n) + ", one for each key");
  }
  return {query_shape.batch, sizes.n_heads, query_shape.n, key_shape.n};
}

template <typename T>
Tensor<T> attention(const AttentionWeights<T>& weights, const AttentionSettings& settings,
                    const Mask<T>& mask, const AttentionInputs<T>& inputs,
                    Observer<T>& observer, AttentionFindings& findings) {
  const MaskAxes axes = check_inputs(weights.sizes, inputs);
  Tensor<T> y(inputs.x.shape());
  Run<T> run(weights, settings, mask, axes, observer, findings);
  run.items(rows_of(inputs.x), rows_of(inputs.key), rows_of(inputs.value), rows_of(y));
  return y;
}

std::size_t score_block_rows(std::size_t n_queries, std::size_t n_keys,
                             std::size_t element_size) {
  const std::size_t row_bytes = std::max<std::size_t>(n_keys * element_size, 1);
  return std::clamp<std::size_t>(kBlockBytes / row_bytes, 1,
                                 std::clamp<std::size_t>(n_queries, 1, kMostBlockRows));
}

template MaskAxes check_inputs(const AttentionSizes&, const AttentionInputs<float>&,
                               const InputNames&);
template MaskAxes check_inputs(const AttentionSizes&, const AttentionInputs<double>&,
                               const InputNames&);
template Tensor<float> attention(const AttentionWeights<float>&, const AttentionSettings&,
                                 const Mask<float>&, const AttentionInputs<float>&,
                                 Observer<float>&, AttentionFindings&);
template Tensor<double> attention(const AttentionWeights<double>&, const AttentionSettings&,
                                  const Mask<double>&, const AttentionInputs<double>&,
                                  Observer<double>&, AttentionFindings&);

}  // namespace mha
