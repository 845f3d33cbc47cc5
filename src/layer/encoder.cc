#include "layer/encoder.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/norm.h"
#include "layer/feed_forward.h"
#include "layer/overflow.h"
#include "layer/projection.h"

namespace mha {
namespace {

// Refuses the numbers of a step that overflowed, and shows the others.
template <typename T>
class Steps {
 public:
  Steps(Observer<T>& observer, const MaskAxes& axes, bool allow_nonfinite)
      : observer_(observer), axes_(axes), allow_nonfinite_(allow_nonfinite) {}

  // `rows` are those from `first` on of [batch * n, …].
  void done(Step step, std::size_t first, ConstMatrixView<T> rows) const {
    if (!allow_nonfinite_ && first_overflow(rows)) {
      by_item(first, rows, [&](const Place& at, ConstMatrixView<T> of_item) {
        require_in_range(step, at, axes_.batch, of_item);
      });
    }
    show(step, first, rows);
  }

  // The same of numbers that were looked at before.
  void show(Step step, std::size_t first, ConstMatrixView<T> rows) const {
    if (!observer_.wants(step)) return;
    by_item(first, rows, [&](const Place& at, ConstMatrixView<T> of_item) {
      observer_.rows(step, at, of_item);
    });
  }

 private:
  template <typename Use>
  void by_item(std::size_t first, ConstMatrixView<T> rows, Use use) const {
    while (!rows.empty()) {
      const Place at{first / axes_.n_queries, 0, first % axes_.n_queries};
      const std::size_t count = std::min(rows.rows, axes_.n_queries - at.first_row);
      use(at, rows.row_block(0, count));
      rows = rows.row_block(count, rows.rows - count);
      first += count;
    }
  }

  Observer<T>& observer_;
  const MaskAxes axes_;
  const bool allow_nonfinite_;
};

// `out` may be `x`.
template <typename T>
void normalise(const NormWeights<T>& norm, const LayerSettings& settings, ConstMatrixView<T> x,
               MatrixView<T> out) {
  if (norm.weight.empty()) {
    if (out.data == x.data) return;
    for (std::size_t i = 0; i < x.rows; ++i) std::copy_n(x.row(i), x.cols, out.row(i));
    return;
  }
  const auto norm_rows = settings.norm_type == NormType::rms ? rms_norm<T> : layer_norm<T>;
  parallel_ranges(x.rows, x.cols * kFlopsOfReading, [&](std::size_t first, std::size_t end) {
    norm_rows(x.row_block(first, end - first), norm.weight.values(), norm.bias.values(),
              settings.eps, out.row_block(first, end - first));
  });
}

template <typename T>
void add(ConstMatrixView<T> terms, MatrixView<T> sums) {
  parallel_ranges(sums.rows, sums.cols * kFlopsOfReading,
                  [&](std::size_t first, std::size_t end) {
                    for (std::size_t i = first; i < end; ++i) {
                      for (std::size_t j = 0; j < sums.cols; ++j) sums(i, j) += terms(i, j);
                    }
                  });
}

// attention_output: of the inputs or, pre-norm, of the normalised x.
template <typename T>
Tensor<T> attend(const Layer<T>& layer, const Mask<T>& mask, const AttentionInputs<T>& inputs,
                 const Steps<T>& steps, Observer<T>& observer, AttentionFindings& findings) {
  const LayerSettings& settings = layer.settings;
  if (settings.norm == NormPlacement::post) {
    return attention(layer.attention, settings.attention, mask, inputs, observer, findings);
  }
  Tensor<T> normed(inputs.x.shape());
  normalise(layer.norm1, settings, rows_of(inputs.x), rows_of(normed));
  steps.done(Step::norm1, 0, rows_of(normed));
  return attention<T>(layer.attention, settings.attention, mask, {normed, normed, normed},
                      observer, findings);
}

// Elements from one hidden row to the next: rows that lie a multiple of a page apart fall
// on the same few sets of a cache.
template <typename T>
std::size_t stride_of(std::size_t d_ff) {
  return d_ff * sizeof(T) % 4096 == 0 ? d_ff + 64 / sizeof(T) : d_ff;
}

// What follows attention, in blocks of rows, since all of it works row by row.
// y [batch * n, d_model] holds attention_output and in the end the layer's y.
template <typename T>
void finish(const Layer<T>& layer, ConstMatrixView<T> x, const Steps<T>& steps,
            MatrixView<T> y) {
  const LayerSettings& settings = layer.settings;
  const FeedForwardWeights<T>& ffn = layer.feed_forward;
  const LayerSizes sizes = layer.sizes();
  const bool pre = settings.norm == NormPlacement::pre;
  const std::size_t block_rows = hidden_block_rows(y.rows, sizes.d_ff, sizeof(T));
  Tensor<T> normed_block({pre ? block_rows : 0, y.cols});
  Tensor<T> gate_block({sizes.gated ? block_rows : 0, stride_of<T>(sizes.d_ff)});
  Tensor<T> hidden_block({block_rows, stride_of<T>(sizes.d_ff)});
  Tensor<T> output_block({block_rows, y.cols});

  for (std::size_t first = 0; first < y.rows; first += block_rows) {
    const std::size_t rows = std::min(block_rows, y.rows - first);
    const auto block = [rows](Tensor<T>& tensor) {
      return tensor.matrix().row_block(0, std::min(rows, tensor.shape()[0]));
    };
    const MatrixView<T> sum = y.row_block(first, rows);
    add(x.row_block(first, rows), sum);
    steps.done(Step::residual1, first, sum);
    const MatrixView<T> entering = pre ? block(normed_block) : sum;
    normalise<T>(pre ? layer.norm2 : layer.norm1, settings, sum, entering);
    steps.done(pre ? Step::norm2 : Step::norm1, first, entering);

    const MatrixView<T> hidden = block(hidden_block).col_block(0, sizes.d_ff);
    fill_hidden<T>(ffn, settings.activation, entering,
                   block(gate_block).col_block(0, sizes.d_ff), hidden);
    steps.done(Step::ffn_hidden, first, hidden);
    const MatrixView<T> output = block(output_block);
    project<T>(hidden, ffn.W_2, ffn.b_2, output);
    steps.done(Step::ffn_output, first, output);

    add<T>(output, sum);
    steps.done(Step::residual2, first, sum);
    if (!pre) {
      normalise<T>(layer.norm2, settings, sum, sum);
      steps.done(Step::norm2, first, sum);
    }
    steps.show(Step::y, first, sum);
  }
}

template <typename T>
Tensor<T> run(const Layer<T>& layer, const Mask<T>& mask, const AttentionInputs<T>& inputs,
              const MaskAxes& axes, Observer<T>& observer, AttentionFindings& findings) {
  assert(layer.settings.part == Part::attention || !layer.feed_forward.W_1.empty());
  const Steps<T> steps(observer, axes, layer.settings.attention.allow_nonfinite);
  steps.show(Step::x, 0, rows_of(inputs.x));
  Tensor<T> y = attend(layer, mask, inputs, steps, observer, findings);
  if (layer.settings.part == Part::layer) finish(layer, rows_of(inputs.x), steps, rows_of(y));
  return y;
}

// Beside attention: the x and y of a layer, what is normalised between them,
// and the blocks of rows of finish().
template <typename T>
void require_memory_for(const Encoder<T>& encoder, const Tensor<T>& x) {
  const std::size_t rows = rows_of(x).rows;
  std::size_t most = 0;
  for (const Layer<T>& layer : encoder.layers) {
    const LayerSizes sizes = layer.sizes();
    const std::size_t tensors = (&layer == &encoder.layers.front() ? 1 : 2) +
                                (layer.settings.norm == NormPlacement::pre ? 1 : 0);
    const std::size_t blocks = hidden_block_rows(rows, sizes.d_ff, sizeof(T)) * 2 *
                               (sizes.d_ff + sizes.attention.d_model);
    most = std::max(most, tensors * x.size() + blocks);
  }
  require_memory(most * sizeof(T), "an encoder over " + std::to_string(rows) + " vectors");
}

}  // namespace

template <typename T>
Tensor<T> encode(const Encoder<T>& encoder, const Mask<T>& mask,
                 const AttentionInputs<T>& inputs, StackObserver<T>& observers,
                 AttentionFindings& findings) {
  return encode_from(0, encoder, mask, inputs, observers, findings);
}

template <typename T>
Tensor<T> encode_from(std::size_t first, const Encoder<T>& encoder, const Mask<T>& mask,
                      const AttentionInputs<T>& inputs, StackObserver<T>& observers,
                      AttentionFindings& findings) {
  assert(first < encoder.layers.size());
  const Layer<T>& last = encoder.layers.back();
  assert((&inputs.key == &inputs.x && &inputs.value == &inputs.x) ||
         (encoder.layers.size() == 1 && last.settings.norm == NormPlacement::post));
  const MaskAxes axes = check_inputs(encoder.layers[first].attention.sizes, inputs);
  require_memory_for(encoder, inputs.x);

  Tensor<T> y;
  for (std::size_t i = first; i < encoder.layers.size(); ++i) {
    const Layer<T>& layer = encoder.layers[i];
    const Tensor<T> x = std::move(y);
    try {
      y = i == first ? run(layer, mask, inputs, axes, observers.layer(i), findings)
                     : run<T>(layer, mask, {x, x, x}, axes, observers.layer(i), findings);
    } catch (const Overflow& overflow) {
      if (encoder.layers.size() == 1) throw;
      throw Overflow("layer " + std::to_string(layer.index) + ": " + overflow.what());
    }
  }

  const Steps<T> steps(observers.stack(), axes, last.settings.attention.allow_nonfinite);
  if (!encoder.norm.weight.empty()) {
    normalise<T>(encoder.norm, last.settings, rows_of(y), rows_of(y));
    steps.done(Step::norm, 0, rows_of(y));
  }
  steps.show(Step::y, 0, rows_of(y));
  return y;
}

template Tensor<float> encode(const Encoder<float>&, const Mask<float>&,
                              const AttentionInputs<float>&, StackObserver<float>&,
                              AttentionFindings&);
template Tensor<double> encode(const Encoder<double>&, const Mask<double>&,
                               const AttentionInputs<double>&, StackObserver<double>&,
                               AttentionFindings&);

template Tensor<float> encode_from(std::size_t, const Encoder<float>&, const Mask<float>&,
                                   const AttentionInputs<float>&, StackObserver<float>&,
                                   AttentionFindings&);
template Tensor<double> encode_from(std::size_t, const Encoder<double>&, const Mask<double>&,
                                    const AttentionInputs<double>&, StackObserver<double>&,
                                    AttentionFindings&);

}  // namespace mha
