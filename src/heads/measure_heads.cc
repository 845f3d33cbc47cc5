#include "heads/measure_heads.h"

#include <cassert>

#include "base/parallel.h"

namespace mha {

template <typename T>
void MeasureHeads::rows(std::ptrdiff_t first_position,
                        std::span<const ConstMatrixView<T>> blocks,
                        const MapColumns& columns) {
  assert(blocks.size() == heads_.size());
  const std::size_t work = blocks.front().rows * blocks.front().cols * kFlopsOfReading;
  parallel_ranges(blocks.size(), work, [&](std::size_t first, std::size_t end) {
    for (std::size_t head = first; head < end; ++head) {
      heads_[head].rows(first_position, blocks[head], columns);
    }
  });
  distances_.rows(blocks);
}

template void MeasureHeads::rows(std::ptrdiff_t, std::span<const ConstMatrixView<float>>,
                                 const MapColumns&);
template void MeasureHeads::rows(std::ptrdiff_t, std::span<const ConstMatrixView<double>>,
                                 const MapColumns&);

}  // namespace mha
