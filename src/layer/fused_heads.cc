#include "layer/fused_heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "kernels/attend.h"
#include "kernels/fused_attend.h"
#include "layer/relative_bias.h"

namespace mha {
namespace {

constexpr std::size_t kBlockRows = 192;  // more make nothing faster
// Rows of scores and maps that are shown: few enough to stay in the second cache, enough
// not to read keys and values too often.
constexpr std::size_t kShownBytes = std::size_t{512} << 10;
constexpr std::size_t kFewestShownRows = 24;
// Packed keys and values that are held at a time; one head at least.
constexpr std::size_t kPackedBytes = std::size_t{16} << 20;
constexpr std::size_t kCacheLine = 16;  // floats
constexpr double kTooLong = std::numeric_limits<double>::infinity();

std::size_t aligned(std::size_t floats) {
  return (floats + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Of all items that are there at a time.
std::size_t heads_at_a_time(const AttentionSizes& sizes, const MaskAxes& axes, bool maps) {
  const std::size_t head = 4 * (aligned(packed_keys_size(axes.n_keys, sizes.d_head)) +
                                aligned(packed_values_size(axes.n_keys, sizes.d_v)));
  const std::size_t fit = std::max<std::size_t>(kPackedBytes / head, 1);
  const std::size_t items = HeadInputs<float>::items_at_a_time(sizes, axes);
  // Whole items, and with maps one at least: their rows come head by head.
  if (maps || fit >= sizes.n_kv_heads) {
    return std::clamp<std::size_t>(fit / sizes.n_kv_heads, 1, items) * sizes.n_kv_heads;
  }
  return fit;
}

// Rows of a task: few enough for all threads to have some.
std::size_t rows_of_a_task(const AttentionSizes& sizes, const MaskAxes& axes, bool maps) {
  std::size_t rows = std::min(kBlockRows, axes.n_queries);
  if (maps) {
    const std::size_t fit = kShownBytes / (axes.n_keys * sizeof(float));
    rows = std::min(rows, std::max(fit, kFewestShownRows));
  }
  const std::size_t wanted = 4 * threads_in_use();
  const std::size_t items = HeadInputs<float>::items_at_a_time(sizes, axes);
  while (rows > 24 && axes.n_queries / rows * sizes.n_heads * items < wanted)
    rows = (rows + 1) / 2;
  return rows;
}

// Floats of one thread: what the kernels need, scores and maps of a task.
std::size_t scratch_size(const AttentionSizes& sizes, const MaskAxes& axes, bool scores,
                         bool maps, std::size_t rows) {
  const std::size_t matrices = (scores ? 1 : 0) + (maps ? 1 : 0);
  return aligned(attend_scratch(rows, sizes.d_v, axes.n_keys)) +
         matrices * aligned(rows * axes.n_keys);
}

// What a block's scores go through beside their positions.
class Change final : public ScoreChange {
 public:
  Change(const AttentionSettings& settings, const Mask<float>& mask, const MaskAxes& axes,
         const Tensor<float>& bias, const Place& at)
      : settings_(settings), mask_(mask), axes_(axes), bias_(bias), at_(at) {}

  void apply(std::size_t row, std::size_t key, MatrixView<float> scores) const override {
    if (settings_.softcap > 0.0) cap_scores(scores, static_cast<float>(settings_.softcap));
    const std::size_t query = at_.first_row + row;
    if (!bias_.empty()) {
      add_by_distance<float>({bias_.matrix().row(at_.head), bias_.shape()[1]}, axes_.n_queries,
                             query, key, scores);
    }
    apply_mask(mask_, settings_, axes_, at_.item, at_.head, query, key, scores);
  }

 private:
  const AttentionSettings& settings_;
  const Mask<float>& mask_;
  const MaskAxes& axes_;
  const Tensor<float>& bias_;
  const Place& at_;
};

KeyWindow window_of(const AttentionSettings& settings, const Mask<float>& mask,
                    const MaskAxes& axes, const Place& at) {
  const FirstPositions starts = first_positions(settings.causal, axes);
  // Of the key at the position of row 0.
  const auto key = static_cast<std::ptrdiff_t>(at.first_row + starts.query) -
                   static_cast<std::ptrdiff_t>(starts.key);
  const auto everything = static_cast<std::ptrdiff_t>(axes.n_queries + axes.n_keys);
  KeyWindow window{key - everything, key + everything,
                   mask.key_lengths.empty()
                       ? axes.n_keys
                       : std::min(mask.key_lengths[at.item], axes.n_keys)};
  if (settings.window) {
    const auto far =
        static_cast<std::ptrdiff_t>(std::min(*settings.window, axes.n_queries + axes.n_keys));
    window.first = key - far;
    window.end = key + far + 1;
  }
  if (settings.causal != Causal::off) window.end = std::min(window.end, key + 1);
  return window;
}

// The largest length of a row; not finite where one is not.
double longest_row(ConstMatrixView<float> rows) {
  double longest = 0.0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const float* row = rows.row(i);
    std::array<float, kCacheLine> squares{};  // f32, so that this is a few vector instructions
    std::size_t j = 0;
    for (; j + kCacheLine <= rows.cols; j += kCacheLine) {
      for (std::size_t l = 0; l < kCacheLine; ++l) squares[l] += row[j + l] * row[j + l];
    }
    for (; j < rows.cols; ++j) squares[0] += row[j] * row[j];
    const float sum = std::accumulate(squares.begin(), squares.end(), 0.0F);
    if (!(sum <= std::numeric_limits<float>::max())) return kTooLong;
    longest = std::max(longest, static_cast<double>(sum));
  }
  return std::sqrt(longest);
}

double longest_of_all(ConstMatrixView<float> rows) {
  double longest = 0.0;
  std::mutex adding;
  parallel_ranges(rows.rows, rows.cols * kFlopsOfReading,
                  [&](std::size_t first, std::size_t end) {
                    const double found = longest_row(rows.row_block(first, end - first));
                    const std::lock_guard lock(adding);
                    longest = std::max(longest, found);
                  });
  return longest;
}

}  // namespace

bool scores_are_bounded(ConstMatrixView<float> q, ConstMatrixView<float> k, double scale) {
  const double largest = longest_of_all(q) * longest_of_all(k) * std::max(scale, 1.0);
  return largest < static_cast<double>(std::numeric_limits<float>::max()) / 4.0;
}

bool FusedHeads::serve(const AttentionSizes& sizes) {
  return !sizes.bias_key && !sizes.zero_key;
}

std::size_t FusedHeads::size_of(const AttentionSizes& sizes, const MaskAxes& axes, bool scores,
                                bool maps) {
  const bool whole = scores || maps;
  const std::size_t rows = rows_of_a_task(sizes, axes, whole);
  return heads_at_a_time(sizes, axes, whole) *
             (aligned(packed_keys_size(axes.n_keys, sizes.d_head)) +
              aligned(packed_values_size(axes.n_keys, sizes.d_v))) +
         threads_in_use() * scratch_size(sizes, axes, scores, maps, rows);
}

FusedHeads::FusedHeads(const AttentionSizes& sizes, const AttentionSettings& settings,
                       const Mask<float>& mask, const MaskAxes& axes,
                       const Tensor<float>& bias, Observer<float>& observer)
    : sizes_(sizes),
      settings_(settings),
      mask_(mask),
      axes_(axes),
      bias_(bias),
      observer_(observer),
      scores_(observer.wants(Step::scores)),
      // Leaks are counted in maps.
      maps_(observer.wants(Step::maps) || may_leak(mask)),
      block_rows_(rows_of_a_task(sizes, axes, scores_ || maps_)),
      keys_size_(aligned(packed_keys_size(axes.n_keys, sizes.d_head))),
      values_size_(aligned(packed_values_size(axes.n_keys, sizes.d_v))),
      packed_({heads_at_a_time(sizes, axes, scores_ || maps_), keys_size_ + values_size_}),
      scratch_({threads_in_use(), scratch_size(sizes, axes, scores_, maps_, block_rows_)}) {}

// What is packed at a time: heads of items, which are counted from `first`.
struct FusedHeads::Part {
  std::size_t first;
  std::size_t item;
  std::size_t items;
  std::size_t kv_head;
  std::size_t kv_heads;
};

struct FusedHeads::Task {
  Place at;
  ConstMatrixView<float> q;  // [rows, d_head]
  const float* packed;       // keys, then values
  MatrixView<float> output;  // [rows, d_v]
};

AttentionFindings FusedHeads::run(const Task& task) {
  const Place& at = task.at;
  const std::size_t rows = task.q.rows;
  const Change change(settings_, mask_, axes_, bias_, at);
  const bool changes =
      settings_.softcap > 0.0 || !bias_.empty() || !mask_.add.empty() || !mask_.drop.empty();
  AttendBlock block;
  block.q = task.q;
  block.n_keys = axes_.n_keys;
  block.packed_keys = task.packed;
  block.packed_values = task.packed + keys_size_;
  block.scale = static_cast<float>(scale_of(settings_, sizes_.d_head));
  block.window = window_of(settings_, mask_, axes_, at);
  block.change = changes ? &change : nullptr;
  block.output = task.output;
  float* scratch = scratch_.matrix().row(current_thread());
  float* next = scratch + aligned(attend_scratch(block_rows_, sizes_.d_v, axes_.n_keys));
  for (const auto& [wanted, matrix] :
       {std::pair{scores_, &block.scores}, std::pair{maps_, &block.map}}) {
    if (!wanted) continue;
    *matrix = {next, rows, axes_.n_keys};
    next += aligned(block_rows_ * axes_.n_keys);
  }
  AttentionFindings findings;
  findings.empty_rows = attend_rows(block, scratch);
  if (scores_) observer_.rows(Step::scores, at, block.scores);
  if (maps_) {
    findings.leaking_keys =
        count_leaks<float>(mask_, at.item, at.head, at.first_row, block.map);
  }
  if (observer_.wants(Step::maps)) observer_.rows(Step::maps, at, block.map);
  return findings;
}

AttentionFindings FusedHeads::items(std::size_t first, std::size_t begin, std::size_t count,
                                    HeadInputs<float>& inputs) {
  // Whole items at a time, or, where they are long, some heads of one.
  const std::size_t kv_heads = std::min(packed_.shape()[0], sizes_.n_kv_heads);
  const std::size_t items = packed_.shape()[0] / kv_heads;
  AttentionFindings findings;
  const std::size_t end = begin + count;
  for (std::size_t item = begin; item < end; item += items) {
    for (std::size_t head = 0; head < sizes_.n_kv_heads; head += kv_heads) {
      const Part part{first, item, std::min(items, end - item), head,
                      std::min(kv_heads, sizes_.n_kv_heads - head)};
      pack(part, inputs);
      attend(part, inputs, findings);
    }
  }
  return findings;
}

void FusedHeads::pack(const Part& part, const HeadInputs<float>& inputs) {
  parallel_ranges(part.items * part.kv_heads, (keys_size_ + values_size_) * kFlopsOfReading,
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i) {
                      const std::size_t item = part.item + i / part.kv_heads;
                      const std::size_t head = part.kv_head + i % part.kv_heads;
                      float* packed = packed_.matrix().row(i);
                      pack_keys(inputs.k(item).col_block(head * sizes_.d_head, sizes_.d_head),
                                packed);
                      pack_values(inputs.v(item).col_block(head * sizes_.d_v, sizes_.d_v),
                                  packed + keys_size_);
                    }
                  });
}

void FusedHeads::attend(const Part& part, HeadInputs<float>& inputs,
                        AttentionFindings& findings) {
  const std::size_t group = sizes_.n_heads / sizes_.n_kv_heads;
  const std::size_t ranges = (axes_.n_queries + block_rows_ - 1) / block_rows_;
  const std::size_t heads = part.kv_heads * group;
  std::mutex adding;
  const auto work = [&](std::size_t index) {
    // Every head of a range of rows before the next range, one item after another.
    const std::size_t item = index / (heads * ranges);
    const std::size_t range = index / heads % ranges;
    const std::size_t head = part.kv_head * group + index % heads;
    const std::size_t begin = range * axes_.n_queries / ranges;
    const std::size_t rows = (range + 1) * axes_.n_queries / ranges - begin;
    const std::size_t packed = item * part.kv_heads + index % heads / group;
    const AttentionFindings found = run({{part.first + part.item + item, head, begin},
                                         inputs.q(part.item + item)
                                             .row_block(begin, rows)
                                             .col_block(head * sizes_.d_head, sizes_.d_head),
                                         packed_.matrix().row(packed),
                                         inputs.concat(part.item + item)
                                             .row_block(begin, rows)
                                             .col_block(head * sizes_.d_v, sizes_.d_v)});
    const std::lock_guard lock(adding);
    findings.empty_rows += found.empty_rows;
    findings.leaking_keys += found.leaking_keys;
  };
  const std::size_t tasks = part.items * ranges * heads;
  const bool in_order = (scores_ && !observer_.any_order(Step::scores)) ||
                        (observer_.wants(Step::maps) && !observer_.any_order(Step::maps));
  const double flops = 4.0 * static_cast<double>(part.items * axes_.n_queries * heads) *
                       static_cast<double>(axes_.n_keys * sizes_.d_head);
  if (in_order || flops < kWorthThreads) {
    for (std::size_t i = 0; i < tasks; ++i) work(i);
  } else {
    parallel(tasks, work);
  }
}

}  // namespace mha
