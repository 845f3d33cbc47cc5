#include "heads/rollout.h"

#include <numeric>
#include <utility>

#include "base/memory.h"
#include "kernels/gemm.h"

namespace mha {

Tensor<double> no_rollout(std::size_t n) {
  Tensor<double> rollout = Tensor<double>::zeros({n, n});
  for (std::size_t i = 0; i < n; ++i) rollout.matrix()(i, i) = 1.0;
  return rollout;
}

void roll_out(ConstMatrixView<double> map, Tensor<double>& rollout) {
  Tensor<double> next({map.rows, map.cols});
  const Tensor<double>& before = rollout;
  gemm(1.0, map, before.matrix(), 0.0, next.matrix());
  for (std::size_t i = 0; i < map.rows; ++i) {
    const double sum = std::accumulate(map.row(i), map.row(i) + map.cols, 1.0);
    const double* own = before.matrix().row(i);
    double* row = next.matrix().row(i);
    for (std::size_t j = 0; j < map.cols; ++j) row[j] = (row[j] + own[j]) / sum;
  }
  rollout = std::move(next);
}

}  // namespace mha
