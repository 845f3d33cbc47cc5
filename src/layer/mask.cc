#include "layer/mask.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/error.h"

namespace mha {
namespace {

template <typename T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

// Softer than this and no mask, harder and it was meant to hide.
constexpr double kDiscouraged = -1000.0;

bool fits(std::size_t axis, std::size_t full) { return axis == full || axis == 1; }

struct Reading {
  const char* meaning;
  Shape axes;
};

// Every way to read `shape` as a mask of these axes.
std::vector<Reading> readings_of(const Shape& shape, const MaskAxes& axes) {
  std::vector<Reading> readings;
  const auto offer = [&](bool possible, const char* meaning, Shape four) {
    if (possible) readings.push_back({meaning, std::move(four)});
  };
  if (shape.empty()) return readings;
  const bool keys = shape.back() == axes.n_keys;
  if (shape.size() == 1) {
    offer(keys, "[n_keys]", {1, 1, 1, shape[0]});
  } else if (shape.size() == 2) {
    offer(keys && fits(shape[0], axes.batch), "[batch, n_keys]", {shape[0], 1, 1, shape[1]});
    offer(keys && fits(shape[0], axes.n_queries), "[n_queries, n_keys]",
          {1, 1, shape[0], shape[1]});
  } else if (shape.size() == 3) {
    const bool rows = keys && fits(shape[1], axes.n_queries);
    offer(rows && fits(shape[0], axes.batch), "[batch, n_queries, n_keys]",
          {shape[0], 1, shape[1], shape[2]});
    offer(rows && fits(shape[0], axes.n_heads), "[n_heads, n_queries, n_keys]",
          {1, shape[0], shape[1], shape[2]});
    offer(rows && axes.batch > 1 && axes.n_heads > 1 && shape[0] == axes.batch * axes.n_heads,
          "[batch * n_heads, n_queries, n_keys]",
          {axes.batch, axes.n_heads, shape[1], shape[2]});
  } else if (shape.size() == 4) {
    offer(fits(shape[0], axes.batch) && fits(shape[1], axes.n_heads) &&
              fits(shape[2], axes.n_queries) && fits(shape[3], axes.n_keys),
          "[batch, n_heads, n_queries, n_keys]", shape);
  }
  return readings;
}

// One row of a mask: its value for key j is first[j * step].
template <typename T>
struct MaskRow {
  const T* first;
  std::size_t step;
  T at(std::size_t key) const { return first[key * step]; }
};

template <typename T>
MaskRow<T> row_of(const BroadcastMask<T>& mask, std::size_t item, std::size_t head,
                  std::size_t query) {
  const Shape& shape = mask.values.shape();
  const auto along = [&](std::size_t axis, std::size_t index) {
    return shape[axis] == 1 ? 0 : index;
  };
  const std::size_t row =
      (along(0, item) * shape[1] + along(1, head)) * shape[2] + along(2, query);
  return {mask.values.data() + row * shape[3], shape[3] == 1 ? std::size_t{0} : 1};
}

// use(j, value) for key first_key + j of each column: two loops that a compiler vectorises.
template <typename T, typename Use>
void for_each_key(const MaskRow<T>& row, std::size_t first_key, std::size_t columns, Use use) {
  if (row.step == 0) {
    const T value = *row.first;
    for (std::size_t j = 0; j < columns; ++j) use(j, value);
    return;
  }
  const T* values = row.first + first_key;
  for (std::size_t j = 0; j < columns; ++j) use(j, values[j]);
}

// The keys [first, end) that `query` may see by its position.
struct Sight {
  std::size_t first, end;
};

Sight sight_of(const AttentionSettings& settings, const MaskAxes& axes, std::size_t query) {
  const FirstPositions starts = first_positions(settings.causal, axes);
  const std::size_t position = starts.query + query;
  // The key at a position, or the end it is beyond.
  const auto key_at = [&](std::size_t at) {
    return std::min(at > starts.key ? at - starts.key : 0, axes.n_keys);
  };
  Sight sight = {0, settings.causal == Causal::off ? axes.n_keys : key_at(position + 1)};
  if (settings.window) {
    // No two positions are farther from each other than this.
    const std::size_t window = std::min(*settings.window, axes.n_queries + axes.n_keys);
    sight.end = std::min(sight.end, key_at(position + window + 1));
    sight.first = std::min(key_at(position > window ? position - window : 0), sight.end);
  }
  return sight;
}

}  // namespace

template <typename T>
BroadcastMask<T> broadcast_mask(Tensor<T> values, const MaskAxes& axes,
                                const std::string& where) {
  const std::vector<Reading> readings = readings_of(values.shape(), axes);
  if (readings.empty()) {
    const Shape full = {axes.batch, axes.n_heads, axes.n_queries, axes.n_keys};
    throw Error(where + ": mask is " + to_string(values.shape()) + ", which broadcasts to " +
                "nothing of " + to_string(full) + " (batch, n_heads, n_queries, n_keys)");
  }
  for (const Reading& other : readings) {
    if (other.axes == readings[0].axes) continue;
    throw Error(where + ": mask is " + to_string(values.shape()) + ", which could be " +
                readings[0].meaning + " or " + other.meaning + "; give it four axes, " +
                to_string(readings[0].axes) + " or " + to_string(other.axes));
  }
  values.reshape(readings[0].axes);
  return {std::move(values)};
}

FirstPositions first_positions(Causal causal, const MaskAxes& axes) noexcept {
  if (causal != Causal::end) return {};
  if (axes.n_keys >= axes.n_queries) return {axes.n_keys - axes.n_queries, 0};
  return {0, axes.n_queries - axes.n_keys};
}

template <typename T>
void apply_mask(const Mask<T>& mask, const AttentionSettings& settings, const MaskAxes& axes,
                std::size_t item, std::size_t head, std::size_t first_query,
                std::size_t first_key, MatrixView<T> scores) noexcept {
  assert(first_key + scores.cols <= axes.n_keys);
  const auto column_of = [&](std::size_t key) {
    return std::clamp(key, first_key, first_key + scores.cols) - first_key;
  };
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const std::size_t query = first_query + i;
    T* row = scores.row(i);
    for (const BroadcastMask<T>& add : mask.add) {
      const MaskRow<T> added = row_of(add, item, head, query);
      for_each_key(added, first_key, scores.cols, [row](std::size_t j, T term) {
        // Assigned, so that it hides a score that is not finite too.
        row[j] = term == kHidden<T> ? kHidden<T> : row[j] + term;
      });
    }
    for (const BroadcastMask<std::uint8_t>& drop : mask.drop) {
      const MaskRow<std::uint8_t> dropped = row_of(drop, item, head, query);
      for_each_key(dropped, first_key, scores.cols, [row](std::size_t j, std::uint8_t hidden) {
        row[j] = hidden != 0 ? kHidden<T> : row[j];
      });
    }
    const Sight sight = sight_of(settings, axes, query);
    const std::size_t end =
        mask.key_lengths.empty() ? sight.end : std::min(sight.end, mask.key_lengths[item]);
    std::fill(row, row + column_of(sight.first), kHidden<T>);
    std::fill(row + column_of(end), row + scores.cols, kHidden<T>);
  }
}

template <typename T>
bool is_discouraged(const Mask<T>& mask, std::size_t item, std::size_t head, std::size_t query,
                    std::size_t key) noexcept {
  return std::any_of(mask.add.begin(), mask.add.end(), [&](const BroadcastMask<T>& add) {
    return row_of(add, item, head, query).at(key) <= static_cast<T>(kDiscouraged);
  });
}

template <typename T>
std::size_t count_leaks(const Mask<T>& mask, std::size_t item, std::size_t head,
                        std::size_t first_query, ConstMatrixView<T> map) noexcept {
  std::size_t leaks = 0;
  for (std::size_t i = 0; i < map.rows && !mask.add.empty(); ++i) {
    const std::size_t query = first_query + i;
    if (mask.add.size() == 1) {
      const MaskRow<T> added = row_of(mask.add.front(), item, head, query);
      for (std::size_t j = 0; j < map.cols; ++j) {
        leaks += map(i, j) > T{0} && added.at(j) <= static_cast<T>(kDiscouraged) ? 1 : 0;
      }
      continue;
    }
    for (std::size_t j = 0; j < map.cols; ++j) {
      if (map(i, j) > T{0} && is_discouraged(mask, item, head, query, j)) ++leaks;
    }
  }
  return leaks;
}

template <typename T>
bool may_leak(const Mask<T>& mask) noexcept {
  return std::any_of(mask.add.begin(), mask.add.end(), [](const BroadcastMask<T>& add) {
    const auto values = add.values.values();
    return std::any_of(values.begin(), values.end(), [](T term) {
      return term <= static_cast<T>(kDiscouraged) && term > kHidden<T>;
    });
  });
}

template bool may_leak(const Mask<float>&) noexcept;
template bool may_leak(const Mask<double>&) noexcept;

template BroadcastMask<std::uint8_t> broadcast_mask(Tensor<std::uint8_t>, const MaskAxes&,
                                                    const std::string&);
template BroadcastMask<float> broadcast_mask(Tensor<float>, const MaskAxes&,
                                             const std::string&);
template BroadcastMask<double> broadcast_mask(Tensor<double>, const MaskAxes&,
                                              const std::string&);
template void apply_mask(const Mask<float>&, const AttentionSettings&, const MaskAxes&,
                         std::size_t, std::size_t, std::size_t, std::size_t,
                         MatrixView<float>) noexcept;
template void apply_mask(const Mask<double>&, const AttentionSettings&, const MaskAxes&,
                         std::size_t, std::size_t, std::size_t, std::size_t,
                         MatrixView<double>) noexcept;
template bool is_discouraged(const Mask<float>&, std::size_t, std::size_t, std::size_t,
                             std::size_t) noexcept;
template bool is_discouraged(const Mask<double>&, std::size_t, std::size_t, std::size_t,
                             std::size_t) noexcept;

template std::size_t count_leaks(const Mask<float>&, std::size_t, std::size_t, std::size_t,
                                 ConstMatrixView<float>) noexcept;
template std::size_t count_leaks(const Mask<double>&, std::size_t, std::size_t, std::size_t,
                                 ConstMatrixView<double>) noexcept;

}  // namespace mha
