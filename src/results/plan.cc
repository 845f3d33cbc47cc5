#include "results/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/label.h"
#include "base/memory.h"
#include "layer/attention.h"
#include "layer/head_inputs.h"

namespace mha {
namespace {

// Softmax of one score: compare, subtract, exponentiate, add, divide.
constexpr double kSoftmaxFlops = 5.0;
// Mean, variance, difference, scale and shift of one element; rms has no mean.
constexpr double kLayerNormFlops = 8.0;
constexpr double kRmsNormFlops = 4.0;

double product(const Shape& shape) {
  double count = 1.0;
  for (const std::size_t axis : shape) count *= static_cast<double>(axis);
  return count;
}

// 33554432 -> "33.6 MFLOP"
std::string format_flops(double flops) {
  constexpr std::array<const char*, 6> kUnits = {"FLOP",  "kFLOP", "MFLOP",
                                                 "GFLOP", "TFLOP", "PFLOP"};
  std::size_t unit = 0;
  while (flops >= 999.5 && unit + 1 < kUnits.size()) {
    flops /= 1000.0;
    ++unit;
  }
  const int decimals = unit == 0 || flops >= 99.95 ? 0 : flops >= 9.995 ? 1 : 2;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, flops, kUnits[unit]);
  return text.data();
}

std::string format_bytes(double bytes) {
  return mha::format_bytes(static_cast<std::size_t>(std::min(bytes, 1e19)));
}

// Steps of one run; shapes begin with the batch axis where there is one to see.
class Planner {
 public:
  Planner(std::size_t batch, std::size_t element_size)
      : batch_(batch), element_size_(element_size) {}

  // A product of `left` [.., n, d] with a matrix [.., d, m].
  void multiply(const std::string& name, const Shape& left, const std::string& right,
                const Shape& made) {
    const double flops = 2.0 * product(made) * static_cast<double>(left.back());
    add(name, text_of(left) + " x " + right + " -> " + text_of(made), flops, made);
  }
  // Work on each element of what is made.
  void each(const std::string& name, const Shape& made, double flops) {
    add(name, text_of(made), flops * product(made), made);
  }
  std::string text_of(const Shape& shape) const {
    const std::string text = to_string(shape);
    return batch_ == 1 ? text : "[" + std::to_string(batch_) + ", " + text.substr(1);
  }
  std::vector<PlannedStep> take() { return std::move(steps_); }

 private:
  void add(const std::string& name, const std::string& shapes, double flops,
           const Shape& made) {
    const auto batch = static_cast<double>(batch_);
    const double bytes = product(made) * static_cast<double>(element_size_);
    steps_.push_back({name, shapes, batch * flops, batch * bytes});
  }

  std::size_t batch_;
  std::size_t element_size_;
  std::vector<PlannedStep> steps_;
};

struct Row {
  std::string name, shapes, flops, bytes;
};

std::string table_of(const std::vector<Row>& rows) {
  std::size_t name = 0;
  std::size_t shapes = 0;
  std::size_t flops = 0;
  std::size_t bytes = 0;
  for (const Row& row : rows) {
    name = std::max(name, display_width(row.name));
    shapes = std::max(shapes, row.shapes.size());
    flops = std::max(flops, row.flops.size());
    bytes = std::max(bytes, row.bytes.size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += pad_right(row.name, name) + "  " + pad_right(row.shapes, shapes) + "  " +
            pad_left(row.flops, flops) + "  " + pad_left(row.bytes, bytes) + "\n";
  }
  return text;
}

double elements_of_attention(const AttentionSizes& sizes) {
  const double q_width = product({sizes.n_heads, sizes.d_head});
  const double concat_width = product({sizes.n_heads, sizes.d_v});
  const auto d_model = static_cast<double>(sizes.d_model);
  const double W_O = concat_width * d_model;
  if (sizes.kv_rank == 0) {
    return q_width * d_model + product({sizes.d_key, sizes.n_kv_heads, sizes.d_head}) +
           product({sizes.d_value, sizes.n_kv_heads, sizes.d_v}) + W_O;
  }
  const auto q_rank = static_cast<double>(sizes.q_rank);
  const double q = sizes.q_rank == 0 ? q_width * d_model : (d_model + q_width) * q_rank;
  const double k_width = product({sizes.n_heads, sizes.d_head - sizes.d_rope});
  return q + W_O + product({sizes.d_model, sizes.kv_rank + sizes.d_rope}) +
         static_cast<double>(sizes.kv_rank) * (k_width + concat_width);
}

// What a run has in memory at its fullest, by parts.
std::string memory_text(const TracedRun& run, std::size_t element_size) {
  const MaskAxes& axes = run.axes;
  const AttentionSizes& sizes = run.layers.front().sizes.attention;
  const auto size = [element_size](double elements) {
    return elements * static_cast<double>(element_size);
  };
  double weights = 0.0;
  bool whole_layer = false;
  for (const TracedLayer& layer : run.layers) {
    const double matrices = layer.sizes.gated ? 3.0 : 2.0;
    weights += size(elements_of_attention(layer.sizes.attention) +
                    matrices * product({sizes.d_model, layer.sizes.d_ff}));
    whole_layer = whole_layer || layer.settings.part == Part::layer;
  }
  const std::size_t columns = sizes.columns(axes.n_keys);
  const double item = size(static_cast<double>(HeadInputs<float>::size_of(sizes, axes)));
  const std::size_t rows = score_block_rows(axes.n_queries, columns, element_size);
  const double block = size(product({rows, columns}));
  const double residuals =
      whole_layer ? size(3.0 * product({axes.batch, axes.n_queries, sizes.d_model})) : 0.0;
  const double all_maps =
      2.0 * size(product({axes.batch, sizes.n_heads, axes.n_queries, columns}));
  return "beside its inputs and y a run holds " +
         format_bytes(weights + item + block + residuals) + ": weights " +
         format_bytes(weights) + "; q, k and v of one item " + format_bytes(item) + "; " +
         std::to_string(rows) + (rows == 1 ? " row" : " rows") + " of scores " +
         format_bytes(block) +
         (whole_layer ? "; residuals and norms " + format_bytes(residuals) : "") + "\n" +
         "(all scores and maps" + (run.layers.size() > 1 ? " of a layer" : "") + " would be " +
         format_bytes(all_maps) + "; they are never held whole)\n";
}

// What the part costs that grows with n_queries n_keys, and why the number of
// heads is not in it.
std::string cost_text(const AttentionSizes& sizes, const MaskAxes& axes) {
  const bool same_width = sizes.d_v == sizes.d_head;
  const std::string d_head = std::to_string(sizes.d_head);
  std::string formula = same_width ? "4 n_queries n_keys n_heads d_head"
                                   : "2 n_queries n_keys n_heads (d_head + d_v)";
  std::string numbers =
      (same_width ? "4 · " : "2 · ") + std::to_string(axes.n_queries) + " · " +
      std::to_string(axes.n_keys) + " · " + std::to_string(sizes.n_heads) + " · " +
      (same_width ? d_head : "(" + d_head + " + " + std::to_string(sizes.d_v) + ")");
  if (axes.batch != 1) {
    formula = "batch · " + formula;
    numbers = std::to_string(axes.batch) + " · " + numbers;
  }
  const double flops = 2.0 * product({axes.batch, sizes.n_heads, axes.n_queries, axes.n_keys,
                                      sizes.d_head + sizes.d_v});
  std::string text = "scores and head_outputs cost " + formula + " = " + numbers + " = " +
                     format_flops(flops) + "\n";
  const std::size_t q_width = sizes.n_heads * sizes.d_head;
  if (q_width == sizes.d_model && same_width) {
    return text + "(n_heads d_head = d_model: n² d_model is what counts, whatever n_heads)\n";
  }
  return text + "(n_heads d_head = " + std::to_string(q_width) +
         ", n_heads d_v = " + std::to_string(sizes.n_heads * sizes.d_v) +
         ", d_model = " + std::to_string(sizes.d_model) +
         "; where they are equal, n² d_model is what counts, whatever n_heads)\n";
}

void plan_projections(Planner& plan, const AttentionSizes& sizes, std::size_t n_queries,
                      std::size_t n_keys) {
  const auto& [d_model, n_heads] = std::pair(sizes.d_model, sizes.n_heads);
  const auto project = [&plan](const std::string& name, std::size_t n, std::size_t from,
                               std::size_t to) {
    plan.multiply(name, {n, from}, to_string({from, to}), {n, to});
  };
  if (sizes.kv_rank == 0) {
    project("q = x W_Q + b_Q", n_queries, d_model, n_heads * sizes.d_head);
    project("k = key W_K + b_K", n_keys, sizes.d_key, sizes.n_kv_heads * sizes.d_head);
    project("v = value W_V + b_V", n_keys, sizes.d_value, sizes.n_kv_heads * sizes.d_v);
    return;
  }
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  if (sizes.q_rank == 0) {
    project("q = x [W_UQ, W_QR]", n_queries, d_model, n_heads * sizes.d_head);
  } else {
    project("c_Q = x W_DQ", n_queries, d_model, sizes.q_rank);
    project("q = c_Q [W_UQ, W_QR]", n_queries, sizes.q_rank, n_heads * sizes.d_head);
  }
  project("c_KV, k_R = x [W_DKV, W_KR]", n_keys, d_model, sizes.kv_rank + sizes.d_rope);
  // Absorbed weights have one key/value head of content, the latent itself.
  if (d_nope == sizes.kv_rank && sizes.n_kv_heads == 1) return;
  project("k = c_KV W_UK", n_keys, sizes.kv_rank, n_heads * d_nope);
  project("v = c_KV W_UV", n_keys, sizes.kv_rank, n_heads * sizes.d_v);
}

struct Totals {
  double flops = 0.0;
  double bytes = 0.0;
};

Totals total_of(const std::vector<PlannedStep>& plan) {
  Totals totals;
  for (const PlannedStep& step : plan) {
    totals.flops += step.flops;
    totals.bytes += step.bytes;
  }
  return totals;
}

std::string table_of(const std::vector<PlannedStep>& plan) {
  std::vector<Row> rows = {{"step", "shapes", "FLOPs", "bytes made"}};
  for (const PlannedStep& step : plan) {
    rows.push_back(
        {step.name, step.shapes, format_flops(step.flops), format_bytes(step.bytes)});
  }
  const Totals totals = total_of(plan);
  rows.push_back({"total", "", format_flops(totals.flops), format_bytes(totals.bytes)});
  return table_of(rows);
}

// "layer 3", "layers 0 to 11, each"
std::string heading(const TracedRun& run, std::size_t first, std::size_t last) {
  const std::string from = std::to_string(run.layers[first].index);
  if (first == last) return "layer " + from + "\n";
  return "layers " + from + " to " + std::to_string(run.layers[last].index) + ", each\n";
}

}  // namespace

std::vector<PlannedStep> plan_of(const TracedLayer& layer, const MaskAxes& axes,
                                 std::size_t element_size) {
  const AttentionSizes& sizes = layer.sizes.attention;
  const LayerSettings& settings = layer.settings;
  const std::size_t n_queries = axes.n_queries;
  const std::size_t columns = sizes.columns(axes.n_keys);
  const Shape rows{n_queries, sizes.d_model};
  const Shape scores{sizes.n_heads, n_queries, columns};
  const std::string concat = to_string({sizes.n_heads * sizes.d_v, sizes.d_model});
  const bool pre = settings.norm == NormPlacement::pre;
  const double norm_flops =
      settings.norm_type == NormType::layer ? kLayerNormFlops : kRmsNormFlops;
  Planner plan(axes.batch, element_size);

  if (pre) plan.each("norm1 = norm(x)", rows, norm_flops);
  plan_projections(plan, sizes, n_queries, axes.n_keys);
  plan.multiply("scores = scale q k^T", {sizes.n_heads, n_queries, sizes.d_head},
                plan.text_of({sizes.n_kv_heads, sizes.d_head, columns}), scores);
  plan.each("maps = softmax(scores)", scores, kSoftmaxFlops);
  plan.multiply("head_outputs = maps v", scores,
                plan.text_of({sizes.n_kv_heads, columns, sizes.d_v}),
                {sizes.n_heads, n_queries, sizes.d_v});
  plan.multiply("attention_output = concat W_O + b_O", {n_queries, sizes.n_heads * sizes.d_v},
                concat, rows);
  if (settings.part == Part::attention) return plan.take();

  const std::size_t d_ff = layer.sizes.d_ff;
  const std::string W_1 = to_string({sizes.d_model, d_ff});
  plan.each("residual1 = x + attention_output", rows, 1.0);
  plan.each(pre ? "norm2 = norm(residual1)" : "norm1 = norm(residual1)", rows, norm_flops);
  const std::string into = pre ? "norm2" : "norm1";
  if (layer.sizes.gated) {
    plan.multiply("gate = " + into + " W_G + b_G", rows, W_1, {n_queries, d_ff});
    plan.multiply("ffn_hidden = act(gate) * (" + into + " W_1 + b_1)", rows, W_1,
                  {n_queries, d_ff});
  } else {
    plan.multiply("ffn_hidden = act(" + into + " W_1 + b_1)", rows, W_1, {n_queries, d_ff});
  }
  plan.multiply("ffn_output = ffn_hidden W_2 + b_2", {n_queries, d_ff},
                to_string({d_ff, sizes.d_model}), rows);
  plan.each("residual2 = " + std::string(pre ? "residual1" : "norm1") + " + ffn_output", rows,
            1.0);
  if (!pre) plan.each("norm2 = norm(residual2)", rows, norm_flops);
  return plan.take();
}

std::string describe_plan(const TracedRun& run, std::size_t element_size) {
  std::string text;
  Totals all;
  for (std::size_t first = 0; first < run.layers.size();) {
    const auto plan = plan_of(run.layers[first], run.axes, element_size);
    std::size_t last = first;
    while (last + 1 < run.layers.size() &&
           plan_of(run.layers[last + 1], run.axes, element_size) == plan) {
      ++last;
    }
    if (run.layers.size() > 1) text += heading(run, first, last);
    text += table_of(plan) + "\n";
    const Totals totals = total_of(plan);
    const auto count = static_cast<double>(last - first + 1);
    all.flops += count * totals.flops;
    all.bytes += count * totals.bytes;
    first = last + 1;
  }
  if (run.layers.size() > 1) {
    text += "all " + std::to_string(run.layers.size()) +
            " layers: " + format_flops(all.flops) + ", " + format_bytes(all.bytes) + " made\n";
  }
  return text + memory_text(run, element_size) +
         cost_text(run.layers.front().sizes.attention, run.axes);
}

}  // namespace mha
