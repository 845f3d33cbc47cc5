#include "kernels/rotary.h"

#include <cassert>
#include <cmath>
#include <vector>

namespace mha {

template <typename T>
void rotate(MatrixView<T> x, std::size_t n_heads, std::size_t width, RotaryPairs pairs,
            double theta, std::size_t first_position) {
  const std::size_t d_head = x.cols / n_heads;
  assert(x.cols % n_heads == 0 && width <= d_head && width % 2 == 0);
  const std::size_t n_pairs = width / 2;
  const std::size_t step = pairs == RotaryPairs::halves ? 1 : 2;  // from pair to pair
  const std::size_t partner = pairs == RotaryPairs::halves ? n_pairs : 1;
  std::vector<double> speed(n_pairs);  // the angle from position to position
  for (std::size_t p = 0; p < n_pairs; ++p) {
    speed[p] = std::pow(theta, -2.0 * static_cast<double>(p) / static_cast<double>(width));
  }
  std::vector<double> cosine(n_pairs);
  std::vector<double> sine(n_pairs);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t p = 0; p < n_pairs; ++p) {
      const double angle = static_cast<double>(first_position + i) * speed[p];
      cosine[p] = std::cos(angle);
      sine[p] = std::sin(angle);
    }
    for (std::size_t head = 0; head < n_heads; ++head) {
      T* channels = x.row(i) + (head + 1) * d_head - width;
      for (std::size_t p = 0; p < n_pairs; ++p) {
        const double a = static_cast<double>(channels[p * step]);
        const double b = static_cast<double>(channels[p * step + partner]);
        channels[p * step] = static_cast<T>(a * cosine[p] - b * sine[p]);
        channels[p * step + partner] = static_cast<T>(a * sine[p] + b * cosine[p]);
      }
    }
  }
}

template void rotate<float>(MatrixView<float>, std::size_t, std::size_t, RotaryPairs, double,
                            std::size_t);
template void rotate<double>(MatrixView<double>, std::size_t, std::size_t, RotaryPairs, double,
                             std::size_t);

}  // namespace mha
