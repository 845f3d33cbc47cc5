#include "layer/overflow.h"

#include <atomic>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/attend.h"

namespace mha {

template <typename T>
std::optional<std::size_t> first_overflow(ConstMatrixView<T> rows) {
  std::atomic<bool> finite = true;
  parallel_ranges(rows.rows, rows.cols * kFlopsOfReading,
                  [&](std::size_t first, std::size_t end) {
                    if (!all_finite(rows.row_block(first, end - first))) finite = false;
                  });
  if (finite) return std::nullopt;
  std::size_t row = 0;
  while (all_finite(rows.row_block(row, 1))) ++row;
  return row;
}

template <typename T>
Overflow overflow_error(const std::string& what) {
  return Overflow(what + (std::is_same_v<T, float> ? " overflow f32; f64 may hold them"
                                                   : " overflow f64"));
}

template <typename T>
void require_in_range(Step step, const Place& at, std::size_t batch, ConstMatrixView<T> rows) {
  const auto row = first_overflow(rows);
  if (!row) return;
  throw overflow_error<T>("the numbers of " + std::string(name_of(step)) +
                          (batch > 1 ? ", item " + std::to_string(at.item) : "") + ", row " +
                          std::to_string(at.first_row + *row));
}

template std::optional<std::size_t> first_overflow(ConstMatrixView<float>);
template std::optional<std::size_t> first_overflow(ConstMatrixView<double>);
template Overflow overflow_error<float>(const std::string&);
template Overflow overflow_error<double>(const std::string&);
template void require_in_range(Step, const Place&, std::size_t, ConstMatrixView<float>);
template void require_in_range(Step, const Place&, std::size_t, ConstMatrixView<double>);

}  // namespace mha
