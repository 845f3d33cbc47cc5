#pragma once

#include <cstddef>
#include <vector>

#include "tensor/view.h"

namespace mha {

// A matrix whose rows are `padding` elements apart, which hold a mark, as all
// elements do at first: what no kernel was asked to write keeps it.
class Padded {
 public:
  Padded(std::size_t rows, std::size_t cols, std::size_t padding)
      : values_(rows * (cols + padding) + 1, kMark),
        view(values_.data(), rows, cols, cols + padding) {}
  Padded(const Padded&) = delete;
  Padded& operator=(const Padded&) = delete;

  template <typename Draw>
  void fill(Draw&& draw) {
    for (std::size_t i = 0; i < view.rows; ++i) {
      for (std::size_t j = 0; j < view.cols; ++j) view(i, j) = static_cast<float>(draw());
    }
  }
  std::size_t marks() const {
    std::size_t count = 0;
    for (const float value : values_) count += value == kMark ? 1 : 0;
    return count;
  }
  std::size_t size() const { return values_.size(); }
  bool padding_untouched() const { return marks() == size() - view.rows * view.cols; }

  static constexpr float kMark = 12345.5F;

 private:
  std::vector<float> values_;

 public:
  const MatrixView<float> view;
};

}  // namespace mha
