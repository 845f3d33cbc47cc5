#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "layer/observer.h"
#include "tensor/view.h"

namespace mha {

// Numbers that grew beyond T: what was finite going in is Inf or NaN coming out.
class Overflow final : public Error {
 public:
  using Error::Error;
};

// The first row that holds a number that is not finite.
template <typename T>
std::optional<std::size_t> first_overflow(ConstMatrixView<T> rows);

// "WHAT overflow f32; f64 may hold them"
template <typename T>
Overflow overflow_error(const std::string& what);

// Throws it where the block of a step at this place has such a row: "the
// numbers of q, item 1, row 3 overflow …", the item where there are several.
template <typename T>
void require_in_range(Step step, const Place& at, std::size_t batch, ConstMatrixView<T> rows);

}  // namespace mha
