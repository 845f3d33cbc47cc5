#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layer/settings.h"
#include "tensor/tensor.h"

namespace mha {

// The four axes that every mask broadcasts to.
struct MaskAxes {
  std::size_t batch = 0;
  std::size_t n_heads = 0;
  std::size_t n_queries = 0;
  std::size_t n_keys = 0;
};

// A mask of [batch, n_heads, n_queries, n_keys] in which any axis may be 1.
template <typename T>
struct BroadcastMask {
  Tensor<T> values;  // rank 4
};

// Gives `values` its four axes:
//   [n_keys], [batch, n_keys]              keys, for all heads and queries
//   [n_queries, n_keys]                    all heads and items
//   [batch * n_heads, n_queries, n_keys]   item-major, as PyTorch lays it
//   [batch, n_queries, n_keys], [n_heads, n_queries, n_keys]
//   [batch, n_heads, n_queries, n_keys]
// An axis but the keys' may be 1, with four axes the keys' too. A shape that
// could mean two things (batch = n_queries > 1 with two axes, batch = n_heads >
// 1 with three) or nothing throws Error that begins with `where` and names both
// shapes.
template <typename T>
BroadcastMask<T> broadcast_mask(Tensor<T> values, const MaskAxes& axes,
                                const std::string& where);

// All that hides keys from queries or weighs them; several masks combine, and
// what one of them hides stays hidden.
template <typename T>
struct Mask {
  std::vector<BroadcastMask<std::uint8_t>> drop;  // 1: may not attend
  std::vector<BroadcastMask<T>> add;              // added to the scaled scores
  std::vector<std::size_t> key_lengths;           // per item; empty: all keys are real
};

// The positions of the first query and the first key of an item, counted from
// 0: both 0, but with Causal::end the last query has the last key's position.
struct FirstPositions {
  std::size_t query = 0;
  std::size_t key = 0;
};
FirstPositions first_positions(Causal causal, const MaskAxes& axes) noexcept;

// Adds to and hides from scores [rows, keys] of the queries from first_query and
// the keys from first_key on, of `head` of `item`; what the mask, the settings'
// direction or their window hides becomes -Inf.
template <typename T>
void apply_mask(const Mask<T>& mask, const AttentionSettings& settings, const MaskAxes& axes,
                std::size_t item, std::size_t head, std::size_t first_query,
                std::size_t first_key, MatrixView<T> scores) noexcept;

// Whether some additive mask says "hidden" (-1000 or less) for this key.
template <typename T>
bool is_discouraged(const Mask<T>& mask, std::size_t item, std::size_t head, std::size_t query,
                    std::size_t key) noexcept;

// Whether some additive mask says so without hiding the key: -1000 or less, not -Inf.
template <typename T>
bool may_leak(const Mask<T>& mask) noexcept;

// How many of these weights, rows of a map from `first_query` on, are not 0 though
// some additive mask discourages them.
template <typename T>
std::size_t count_leaks(const Mask<T>& mask, std::size_t item, std::size_t head,
                        std::size_t first_query, ConstMatrixView<T> map) noexcept;

}  // namespace mha
