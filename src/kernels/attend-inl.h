// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_ATTEND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_ATTEND_INL_H
#undef MHA_KERNELS_ATTEND_INL_H
#else
#define MHA_KERNELS_ATTEND_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/exp-inl.h"
#include "kernels/simd_table.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// The first `count` channels of `keys` keys, one channel after another.
HWY_INLINE void turn(const float* k, std::size_t k_stride, std::size_t keys, std::size_t count,
                     float* to) {
  for (std::size_t j = 0; j < keys; ++j) {
    for (std::size_t p = 0; p < count; ++p) to[p * kPanel + j] = k[j * k_stride + p];
  }
}

#if HWY_TARGET != HWY_SCALAR
// Four keys' four channels.
HWY_INLINE void turn4x4(const float* k, std::size_t k_stride, float* to) {
  const hn::FixedTag<float, 4> d;
  const auto k0 = hn::LoadU(d, k);
  const auto k1 = hn::LoadU(d, k + k_stride);
  const auto k2 = hn::LoadU(d, k + 2 * k_stride);
  const auto k3 = hn::LoadU(d, k + 3 * k_stride);
  const auto k02 = hn::InterleaveLower(d, k0, k2);
  const auto k13 = hn::InterleaveLower(d, k1, k3);
  const auto k02_upper = hn::InterleaveUpper(d, k0, k2);
  const auto k13_upper = hn::InterleaveUpper(d, k1, k3);
  hn::Store(hn::InterleaveLower(d, k02, k13), d, to);
  hn::Store(hn::InterleaveUpper(d, k02, k13), d, to + kPanel);
  hn::Store(hn::InterleaveLower(d, k02_upper, k13_upper), d, to + 2 * kPanel);
  hn::Store(hn::InterleaveUpper(d, k02_upper, k13_upper), d, to + 3 * kPanel);
}
#endif

// K [rows, d_head] -> K^T panels.
void pack_keys(ConstMatrixView<float> k, float* packed) {
  for (std::size_t j0 = 0; j0 < k.rows; j0 += kPanel, packed += k.cols * kPanel) {
    const std::size_t keys = std::min(kPanel, k.rows - j0);
    std::size_t j = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; j + 4 <= keys; j += 4) {
      std::size_t p = 0;
      for (; p + 4 <= k.cols; p += 4) {
        turn4x4(k.row(j0 + j) + p, k.stride, packed + p * kPanel + j);
      }
      turn(k.row(j0 + j) + p, k.stride, 4, k.cols - p, packed + p * kPanel + j);
    }
#endif
    turn(k.row(j0 + j), k.stride, keys - j, k.cols, packed + j);
    for (std::size_t p = 0; p < k.cols && keys < kPanel; ++p) {
      std::fill(packed + p * kPanel + keys, packed + (p + 1) * kPanel, 0.0F);
    }
  }
}

void pack_values(ConstMatrixView<float> v, float* packed) {
  for (std::size_t c0 = 0; c0 < v.cols; c0 += kPanel, packed += v.rows * kPanel) {
    pack_panel(v.data + c0, v.stride, v.rows, std::min(kPanel, v.cols - c0), packed);
  }
}

constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

HWY_INLINE float largest_of(const float* row, std::size_t n) {
  const D d;
  V m0 = hn::Set(d, kHiddenScore);
  V m1 = m0;
  for (std::size_t j = 0; j < n; j += kPanel) {
    m0 = hn::Max(m0, hn::Load(d, row + j));
    m1 = hn::Max(m1, hn::Load(d, row + j + kLanes));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(m0, m1)));
}

// row = e^(row - largest), added to the vector `sum`.
HWY_INLINE void exponentiate(float* row, std::size_t n, float largest, float* sum) {
  const D d;
  const V m = hn::Set(d, largest);
  V sum0 = hn::Load(d, sum);
  V sum1 = hn::Zero(d);
  for (std::size_t j = 0; j < n; j += kPanel) {
    const V e0 = exp_negative(hn::Sub(hn::Load(d, row + j), m));
    const V e1 = exp_negative(hn::Sub(hn::Load(d, row + j + kLanes), m));
    hn::Store(e0, d, row + j);
    hn::Store(e1, d, row + j + kLanes);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
  }
  hn::Store(hn::Add(sum0, sum1), d, sum);
}

// Hides what the rows do not see by their position and what stands behind the
// last key: columns [0, width) of S, the first of which is key `key`.
void hide(const KeyWindow& window, std::size_t first_row, std::size_t rows, std::size_t key,
          std::size_t width, float* scores, std::size_t stride) {
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(first_row + i);
    const auto at = [&](std::ptrdiff_t position) {
      return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
          position - static_cast<std::ptrdiff_t>(key), 0, static_cast<std::ptrdiff_t>(width)));
    };
    float* s = scores + i * stride;
    const std::size_t begin = at(row + window.first);
    const std::size_t end =
        at(std::min(row + window.end, static_cast<std::ptrdiff_t>(window.limit)));
    if (begin >= end) {
      std::fill(s, s + width, kHiddenScore);
    } else {
      std::fill(s, s + begin, kHiddenScore);
      std::fill(s + end, s + width, kHiddenScore);
    }
  }
}

// Keys that any of these rows sees.
struct Span {
  std::size_t begin, end;
};
Span span_of(const KeyWindow& window, std::size_t first_row, std::size_t rows) {
  const auto limit = static_cast<std::ptrdiff_t>(window.limit);
  const auto first = static_cast<std::ptrdiff_t>(first_row);
  const auto last = static_cast<std::ptrdiff_t>(first_row + rows) - 1;
  return {static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(first + window.first, 0, limit)),
          static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(last + window.end, 0, limit))};
}

// S [rows, width] = scale q K^T of the keys from `key` on, a multiple of kPanel,
// changed and hidden as the block says.
void score_keys(const AttendBlock& block, std::size_t first_row, std::size_t rows,
                std::size_t key, std::size_t width, float* scores, std::size_t stride) {
  const std::size_t d_head = block.q.cols;
  for (std::size_t j = 0; j < width; j += kPanel) {
    tile_rows(rows,
              {block.q.row(first_row), block.q.stride, block.packed_keys + (key + j) * d_head,
               kPanel, d_head, nullptr, 0, block.scale, scores + j, stride});
  }
  if (block.change != nullptr) {
    const std::size_t real = std::min(width, block.n_keys - key);
    block.change->apply(first_row, key, {scores, rows, real, stride});
  }
  const auto first = static_cast<std::ptrdiff_t>(first_row);
  const auto last_key = static_cast<std::ptrdiff_t>(key + width);
  const bool all_seen = first + static_cast<std::ptrdiff_t>(rows) - 1 + block.window.first <=
                            static_cast<std::ptrdiff_t>(key) &&
                        first + block.window.end >= last_key &&
                        key + width <= block.window.limit;
  if (!all_seen) hide(block.window, first_row, rows, key, width, scores, stride);
}

// output += weights [rows, count] V of the keys from `key` on. Summed up from zero
// and then added, so that rounding does not grow with the number of keys.
void add_values(const AttendBlock& block, std::size_t d_v, std::size_t rows, std::size_t key,
                std::size_t count, const float* weights, std::size_t weights_stride,
                float* output, std::size_t output_stride) {
  const D d;
  HWY_ALIGN float sums[kTileRows * kPanel];
  for (std::size_t c0 = 0; c0 < d_v; c0 += kPanel) {
    tile_rows(rows, {weights, weights_stride,
                     block.packed_values + (c0 / kPanel * block.n_keys + key) * kPanel, kPanel,
                     count, nullptr, 0, 1.0F, sums, kPanel});
    for (std::size_t i = 0; i < rows; ++i) {
      float* to = output + i * output_stride + c0;
      const float* from = sums + i * kPanel;
      hn::StoreU(hn::Add(hn::LoadU(d, to), hn::Load(d, from)), d, to);
      hn::StoreU(hn::Add(hn::LoadU(d, to + kLanes), hn::Load(d, from + kLanes)), d,
                 to + kLanes);
    }
  }
}

std::size_t padded(std::size_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

void scale_row(float* row, std::size_t n, float by) {
  const D d;
  const V f = hn::Set(d, by);
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + j), f), d, row + j);
  }
  for (; j < n; ++j) row[j] *= by;
}

// What the rows of a block have come to.
struct Softmax {
  float* output;  // [rows, stride], sums not yet divided
  std::size_t stride;
  float* sums;     // [rows, kLanes] of e^(score - largest), to be added up
  float* largest;  // of each row, so far
};

// A row's largest score has grown: what was summed up shrinks.
HWY_INLINE void raise(const Softmax& softmax, std::size_t row, float largest) {
  float& before = softmax.largest[row];
  if (before != kHiddenScore) {
    const float shrink = std::exp(before - largest);
    scale_row(softmax.output + row * softmax.stride, softmax.stride, shrink);
    scale_row(softmax.sums + row * kLanes, kLanes, shrink);
  }
  before = largest;
}

// Takes scores [rows, width] into the softmax of the rows from `first` on; they become
// e^(score - largest) in their place. One pass over all rows after another, so that no
// row waits for what the one before it comes to.
void take_scores(const Softmax& softmax, std::size_t first, std::size_t rows,
                 std::size_t width, float* scores, std::size_t score_stride) {
  float largest[kTileRows];
  for (std::size_t i = 0; i < rows; ++i) {
    largest[i] = largest_of(scores + i * score_stride, width);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (largest[i] > softmax.largest[first + i]) raise(softmax, first + i, largest[i]);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    float* row = scores + i * score_stride;
    // NaN is not larger than -Inf: a row that holds one is not a hidden row.
    if (largest[i] == kHiddenScore &&
        std::all_of(row, row + width, [](float s) { return s == kHiddenScore; })) {
      std::fill(row, row + width, 0.0F);
      continue;
    }
    exponentiate(row, width, softmax.largest[first + i], softmax.sums + (first + i) * kLanes);
  }
}

float total_of(const Softmax& softmax, std::size_t row) {
  const D d;
  return hn::GetLane(hn::SumOfLanes(d, hn::Load(d, softmax.sums + row * kLanes)));
}

// Of a row's sum, which is 0 where it sees nothing and NaN where it saw that.
float inverse_of(float sum) { return sum == 0.0F ? 0.0F : 1.0F / sum; }

// The map's rows from e^(score - largest), where `largest_at` [rows, blocks] is what
// was the largest when a block of keys was taken: times e^(largest_at - largest) / sum.
void finish_map(const AttendBlock& block, const Softmax& softmax, const float* largest_at,
                std::size_t blocks) {
  for (std::size_t i = 0; i < block.map.rows; ++i) {
    float* map = block.map.row(i);
    const float inverse = inverse_of(total_of(softmax, i));
    for (std::size_t b = 0; b < blocks; ++b) {
      const float top = largest_at[i * blocks + b];
      // A block that is hidden whole is zeros already.
      if (top == kHiddenScore) continue;
      scale_row(map + b * kKeyBlock, std::min(kKeyBlock, block.n_keys - b * kKeyBlock),
                std::exp(top - softmax.largest[i]) * inverse);
    }
  }
}

std::size_t attend_rows(const AttendBlock& block, float* scratch) {
  const std::size_t rows = block.q.rows;
  const std::size_t d_v = block.output.cols;
  const std::size_t score_stride = kKeyBlock + kPanel;  // off a power of two
  float* scores = scratch;
  Softmax softmax{};
  softmax.stride = padded(d_v);
  softmax.output = scores + kTileRows * score_stride;
  softmax.sums = softmax.output + rows * softmax.stride;
  softmax.largest = softmax.sums + rows * kLanes;
  std::fill(softmax.output, softmax.largest, 0.0F);
  std::fill_n(softmax.largest, rows, kHiddenScore);
  const std::size_t blocks = (block.n_keys + kKeyBlock - 1) / kKeyBlock;
  float* largest_at = softmax.largest + rows;  // [rows, blocks], where there is a map
  if (!block.map.empty()) std::fill_n(largest_at, rows * blocks, kHiddenScore);

  const std::size_t groups = (rows + kTileRows - 1) / kTileRows;
  const Span seen = span_of(block.window, 0, rows);
  const bool all_seen = seen.begin == 0 && seen.end == block.n_keys;
  for (std::size_t i = 0; i < rows && !all_seen; ++i) {
    if (!block.scores.empty()) std::fill_n(block.scores.row(i), block.n_keys, kHiddenScore);
    if (!block.map.empty()) std::fill_n(block.map.row(i), block.n_keys, 0.0F);
  }
  for (std::size_t key = seen.begin / kKeyBlock * kKeyBlock; key < seen.end;
       key += kKeyBlock) {
    const std::size_t count = std::min(kKeyBlock, block.n_keys - key);
    for (std::size_t g = 0; g < groups; ++g) {
      // Rows split evenly: 16 are 8 + 8, not 12 + 4.
      const std::size_t first = g * rows / groups;
      const std::size_t n = (g + 1) * rows / groups - first;
      const Span span = span_of(block.window, first, n);
      const std::size_t in_use =
          span.end > key && span.begin < key + count ? std::min(count, span.end - key) : 0;
      if (in_use > 0) {
        score_keys(block, first, n, key, padded(in_use), scores, score_stride);
      }
      const auto keep = [&](MatrixView<float> whole, float hidden) {
        for (std::size_t i = 0; i < n && !whole.empty(); ++i) {
          float* row = whole.row(first + i) + key;
          std::copy_n(scores + i * score_stride, in_use, row);
          std::fill(row + in_use, row + count, hidden);
        }
      };
      keep(block.scores, kHiddenScore);
      if (in_use > 0) take_scores(softmax, first, n, padded(in_use), scores, score_stride);
      keep(block.map, 0.0F);
      for (std::size_t i = 0; i < n && !block.map.empty() && in_use > 0; ++i) {
        largest_at[(first + i) * blocks + key / kKeyBlock] = softmax.largest[first + i];
      }
      if (in_use == 0) continue;
      add_values(block, d_v, n, key, in_use, scores, score_stride,
                 softmax.output + first * softmax.stride, softmax.stride);
    }
  }

  std::size_t empty = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const float sum = total_of(softmax, i);
    if (sum == 0.0F) ++empty;
    float* row = softmax.output + i * softmax.stride;
    scale_row(row, softmax.stride, inverse_of(sum));
    std::copy_n(row, d_v, block.output.row(i));
  }
  if (!block.map.empty()) finish_map(block, softmax, largest_at, blocks);
  return empty;
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
