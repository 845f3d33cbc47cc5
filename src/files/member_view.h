#pragma once

#include <cstddef>
#include <string>

#include "files/archive.h"
#include "tensor/tensor.h"

namespace mha {

// Views of a tensor of a file: another shape over the same bytes, none of which
// is touched. They compose in any order.

// Indices [first, first + count) of an axis. REQUIRES them within the axis.
Member slice(Member member, std::size_t axis, std::size_t first, std::size_t count);

// [.., n, ..] as [.., parts, n / parts, ..]. REQUIRES parts > 0 that divide n.
Member split(Member member, std::size_t axis, std::size_t parts);

// Axis i of the result is axis axes[i]: {1, 0} transposes a matrix. REQUIRES
// each axis once.
Member permute(Member member, const Shape& axes);

// Under another name; `origin` keeps the first one, for messages.
Member renamed(Member member, std::string name);

// Elements from neighbour to neighbour along each axis.
Shape strides_of(const Member& member);

// Whether the elements lie side by side in row-major order, from `offset` on.
bool is_row_major(const Member& member);

}  // namespace mha
