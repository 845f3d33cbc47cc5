#include "layer/projection.h"

#include <algorithm>

#include "kernels/gemm.h"

namespace mha {

template <typename T>
void project(ConstMatrixView<T> x, const Tensor<T>& W, const Tensor<T>& b, MatrixView<T> out) {
  if (!b.empty()) {
    for (std::size_t i = 0; i < out.rows; ++i) std::copy_n(b.data(), b.size(), out.row(i));
  }
  gemm(T{1}, x, W.matrix(), b.empty() ? T{0} : T{1}, out);
}

template void project(ConstMatrixView<float>, const Tensor<float>&, const Tensor<float>&,
                      MatrixView<float>);
template void project(ConstMatrixView<double>, const Tensor<double>&, const Tensor<double>&,
                      MatrixView<double>);

}  // namespace mha
