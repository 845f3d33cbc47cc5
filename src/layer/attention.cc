#include "layer/attention.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/error.h"
#include "base/memory.h"
#include "kernels/attend.h"
#include "kernels/gemm.h"
#include "layer/head_inputs.h"
#include "layer/overflow.h"
#include "layer/projection.h"
#include "layer/relative_bias.h"

namespace mha {
namespace {

// A block of score rows stays in a core's level-2 and level-3 cache.
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
constexpr std::size_t kMostBlockRows = 128;  // more rows make no GEMM faster

// The work on one item of the batch after another, in buffers of one item.
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
        scale_(static_cast<T>(scale_of(settings, weights.sizes.d_head))) {
    const AttentionSizes& sizes = weights.sizes;
    const std::size_t columns = sizes.columns(axes.n_keys);
    const std::size_t concat_width = sizes.n_heads * sizes.d_v;
    const std::size_t block_rows = score_block_rows(axes.n_queries, columns, sizeof(T));
    const std::size_t contribution_rows =
        observer.wants(Step::contributions) ? axes.n_queries : 0;
    const std::size_t distances =
        weights.relative_bias.empty() ? 0 : axes.n_queries + axes.n_keys - 1;
    const std::size_t elements = HeadInputs<T>::size_of(sizes, axes) +
                                 axes.n_queries * concat_width + block_rows * columns +
                                 contribution_rows * sizes.d_model + sizes.n_heads * distances;
    require_memory(elements * sizeof(T), "attention over " + std::to_string(axes.n_queries) +
                                             " queries and " + std::to_string(axes.n_keys) +
                                             " keys");
    head_inputs_.emplace(weights, settings, axes);
    concat_ = Tensor<T>({axes.n_queries, concat_width});
    scores_ = Tensor<T>({block_rows, columns});
    contribution_ = Tensor<T>({contribution_rows, sizes.d_model});
    if (distances > 0) {
      bias_ = bias_by_distance(weights.relative_bias, settings.relative_distance, axes,
                               first_positions(settings.causal, axes));
    }
  }

  void item(std::size_t item, ConstMatrixView<T> x, ConstMatrixView<T> key,
            ConstMatrixView<T> value, MatrixView<T> y) {
    const AttentionSizes& sizes = weights_.sizes;
    q_ = head_inputs_->queries(x);
    require_step_in_range(Step::q, item, q_);
    show(Step::q, item, sizes.n_heads, q_);
    k_ = head_inputs_->keys(key);
    require_step_in_range(Step::k, item, k_);
    show(Step::k, item, sizes.n_kv_heads, k_);
    v_ = head_inputs_->values(value);
    require_step_in_range(Step::v, item, v_);
    show(Step::v, item, sizes.n_kv_heads, v_);

    for (std::size_t first = 0; first < axes_.n_queries; first += scores_.shape()[0]) {
      const std::size_t rows = std::min(scores_.shape()[0], axes_.n_queries - first);
      for (std::size_t head = 0; head < sizes.n_heads; ++head) {
        attend({item, head, first}, scores_.matrix().row_block(0, rows));
      }
    }
    show(Step::head_outputs, item, sizes.n_heads, concat_.matrix());
    show(Step::concat, item, 1, concat_.matrix());
    show_contributions(item);
    project<T>(concat_.matrix(), weights_.W_O, weights_.b_O, y);
    require_step_in_range(Step::attention_output, item, y);
    show(Step::attention_output, item, 1, y);
  }

 private:
  // One block of query rows of one head: scores, map, head output.
  void attend(const Place& at, MatrixView<T> scores) {
    const AttentionSizes& sizes = weights_.sizes;
    const std::size_t kv_head = sizes.kv_head_of(at.head);
    const auto q = q_.row_block(at.first_row, scores.rows)
                       .col_block(at.head * sizes.d_head, sizes.d_head);
    const auto k = k_.col_block(kv_head * sizes.d_head, sizes.d_head);
    const auto v = v_.col_block(kv_head * sizes.d_v, sizes.d_v);
    const auto output = concat_.matrix()
                            .row_block(at.first_row, scores.rows)
                            .col_block(at.head * sizes.d_v, sizes.d_v);

    gemm_transposed(scale_, q, k, T{0}, scores);
    require_scores_in_range(at, scores);
    if (settings_.softcap > 0.0) cap_scores(scores, static_cast<T>(settings_.softcap));
    // Masks and positions know the keys of the input alone.
    const MatrixView<T> of_input = scores.col_block(0, axes_.n_keys);
    if (!bias_.empty()) {
      add_by_distance<T>({bias_.matrix().row(at.head), bias_.shape()[1]}, axes_.n_queries,
                         at.first_row, of_input);
      require_scores_in_range(at, of_input);
    }
    apply_mask(mask_, settings_, axes_, at.item, at.head, at.first_row, of_input);
    if (observer_.wants(Step::scores)) observer_.rows(Step::scores, at, scores);
    findings_.empty_rows += softmax_rows(scores);
    count_leaks(at, of_input);
    if (observer_.wants(Step::maps)) observer_.rows(Step::maps, at, scores);
    gemm(T{1}, scores, v, T{0}, output);
  }

  void count_leaks(const Place& at, ConstMatrixView<T> map) {
    if (mask_.add.empty()) return;
    for (std::size_t i = 0; i < map.rows; ++i) {
      for (std::size_t j = 0; j < map.cols; ++j) {
        if (map(i, j) > T{0} && is_discouraged(mask_, at.item, at.head, at.first_row + i, j)) {
          ++findings_.leaking_keys;
        }
      }
    }
  }

  void show_contributions(std::size_t item) {
    if (!observer_.wants(Step::contributions)) return;
    const AttentionSizes& sizes = weights_.sizes;
    for (std::size_t head = 0; head < sizes.n_heads; ++head) {
      gemm(T{1}, concat_.matrix().col_block(head * sizes.d_v, sizes.d_v),
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
  const T scale_;
  std::optional<HeadInputs<T>> head_inputs_;  // made once its memory is asked for
  ConstMatrixView<T> q_;                     // [n_queries, n_heads * d_head]
  ConstMatrixView<T> k_;                     // [columns, n_kv_heads * d_head]
  ConstMatrixView<T> v_;                     // [columns, n_kv_heads * d_v]
  Tensor<T> bias_;                           // [n_heads, n_queries + n_keys - 1], or empty
  Tensor<T> concat_;                         // [n_queries, n_heads * d_v]
  Tensor<T> scores_;        // [score_block_rows, columns], then the map in its place
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
  for (std::size_t item = 0; item < axes.batch; ++item) {
    run.item(item, inputs.x.matrix(item), inputs.key.matrix(item), inputs.value.matrix(item),
             y.matrix(item));
  }
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
