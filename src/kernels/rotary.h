#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace mha {

// Which channels of a head turn together: the i-th of both halves, or neighbours.
enum class RotaryPairs { halves, neighbours };

// Rotary positions (Su et al. 2021, eq. 34), in place: in row p of x the i-th
// pair (a, b) of a head turns by the angle
//   (first_position + p) theta^(-2 i / width)
// to (a cos - b sin, a sin + b cos). x [n, n_heads * d_head], heads side by
// side; of each the last `width` channels turn, the others stay. Angles and
// products are double, so that f32 is rounded once.
// REQUIRES: n_heads divides x.cols; an even width of at most d_head; theta > 0.
template <typename T>
void rotate(MatrixView<T> x, std::size_t n_heads, std::size_t width, RotaryPairs pairs,
            double theta, std::size_t first_position);

}  // namespace mha
