#pragma once

#include <string>

#include "tensor/view.h"

namespace mha {

// Bits that a weight takes in a page.
enum class WeightBits { sixteen = 16, eight = 8 };

struct PackedMap {
  std::string text;           // packed_text of the units, then the counts, little-endian
  double largest = 0.0;        // weight
  double largest_error = 0.0;  // of a weight read back
};

// A map [n_queries, n_keys] of weights from 0 to 1 in few bytes. Each weight becomes a whole
// number of its row's unit: units f32 [n_queries], counts u16 or u8 [n_queries, n_keys],
// weight = count * unit. With sixteen bits a unit is 1e-4 divided by 1, 5, 9, …, as fine as
// the row's largest weight lets it be: so a count rounds to the very four decimals that the
// weight itself rounds to. With eight bits it is 1/255 of the row's largest weight.
PackedMap packed_map(ConstMatrixView<float> map, WeightBits bits);

}  // namespace mha
