#include "results/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/memory.h"
#include "results/label.h"

namespace mha {
namespace {

// Softmax of one score: compare, subtract, exponentiate, add, divide.
constexpr double kSoftmaxFlops = 5.0;

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
  void softmax(const std::string& name, const Shape& scores) {
    add(name, text_of(scores), kSoftmaxFlops * product(scores), scores);
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

// What a run has in memory at its fullest, by parts.
std::string memory_text(const AttentionSizes& sizes, const MaskAxes& axes,
                        std::size_t element_size) {
  const auto size = [element_size](const Shape& shape) {
    return product(shape) * static_cast<double>(element_size);
  };
  const std::size_t q_width = sizes.n_heads * sizes.d_head;
  const std::size_t k_width = sizes.n_kv_heads * sizes.d_head;
  const std::size_t v_width = sizes.n_kv_heads * sizes.d_v;
  const std::size_t concat_width = sizes.n_heads * sizes.d_v;
  const double weights = size({sizes.d_model, q_width}) + size({sizes.d_key, k_width}) +
                         size({sizes.d_value, v_width}) + size({concat_width, sizes.d_model});
  const double item =
      size({axes.n_queries, q_width + concat_width}) + size({axes.n_keys, k_width + v_width});
  const std::size_t rows = score_block_rows(axes.n_queries, axes.n_keys, element_size);
  const double block = size({rows, axes.n_keys});
  const double whole = 2.0 * size({axes.batch, sizes.n_heads, axes.n_queries, axes.n_keys});
  return "beside its inputs and y a run holds " + format_bytes(weights + item + block) +
         ": weights " + format_bytes(weights) + "; q, k, v and concat of one item " +
         format_bytes(item) + "; " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
         " of scores " + format_bytes(block) + "\n" + "(all scores and maps would be " +
         format_bytes(whole) + "; they are never held whole)\n";
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

}  // namespace

std::vector<PlannedStep> plan_of(const AttentionSizes& sizes, const MaskAxes& axes,
                                 std::size_t element_size) {
  const std::size_t d_model = sizes.d_model;
  const std::size_t d_key = sizes.d_key;
  const std::size_t d_value = sizes.d_value;
  const std::size_t n_heads = sizes.n_heads;
  const std::size_t n_kv_heads = sizes.n_kv_heads;
  const std::size_t d_head = sizes.d_head;
  const std::size_t d_v = sizes.d_v;
  const std::size_t n_queries = axes.n_queries;
  const std::size_t n_keys = axes.n_keys;
  const Shape scores{n_heads, n_queries, n_keys};
  Planner plan(axes.batch, element_size);

  plan.multiply("q = x W_Q + b_Q", {n_queries, d_model},
                to_string({d_model, n_heads * d_head}), {n_queries, n_heads * d_head});
  plan.multiply("k = key W_K + b_K", {n_keys, d_key}, to_string({d_key, n_kv_heads * d_head}),
                {n_keys, n_kv_heads * d_head});
  plan.multiply("v = value W_V + b_V", {n_keys, d_value},
                to_string({d_value, n_kv_heads * d_v}), {n_keys, n_kv_heads * d_v});
  plan.multiply("scores = scale q k^T", {n_heads, n_queries, d_head},
                plan.text_of({n_kv_heads, d_head, n_keys}), scores);
  plan.softmax("maps = softmax(scores)", scores);
  plan.multiply("head_outputs = maps v", scores, plan.text_of({n_kv_heads, n_keys, d_v}),
                {n_heads, n_queries, d_v});
  plan.multiply("attention_output = concat W_O + b_O", {n_queries, n_heads * d_v},
                to_string({n_heads * d_v, d_model}), {n_queries, d_model});
  return plan.take();
}

std::string describe(const std::vector<PlannedStep>& plan, const AttentionSizes& sizes,
                     const MaskAxes& axes, std::size_t element_size) {
  std::vector<Row> rows = {{"step", "shapes", "FLOPs", "bytes made"}};
  double flops = 0.0;
  double bytes = 0.0;
  for (const PlannedStep& step : plan) {
    rows.push_back(
        {step.name, step.shapes, format_flops(step.flops), format_bytes(step.bytes)});
    flops += step.flops;
    bytes += step.bytes;
  }
  rows.push_back({"total", "", format_flops(flops), format_bytes(bytes)});
  return table_of(rows) + "\n" + memory_text(sizes, axes, element_size) +
         cost_text(sizes, axes);
}

}  // namespace mha
