#include "kernels/linear.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/gemm.h"
#include "kernels/native_gemm.h"
#include "kernels/simd.h"

namespace mha {
namespace {

Gemm chosen = Gemm::automatic;

// At every number of rows that was measured (mha-bench --gemm) OpenBLAS, which packs W
// anew at each call, was the slower one, unless the SIMD unit is narrow.
bool native_is_faster() { return simd_lanes() >= 8; }

template <typename T>
void activate(Epilogue epilogue, MatrixView<T> values) {
  switch (epilogue) {
    case Epilogue::none: return;
    case Epilogue::relu: return relu(values);
    case Epilogue::gelu: return gelu(values);
    case Epilogue::gelu_tanh: return gelu_tanh(values);
    case Epilogue::quick_gelu: return quick_gelu(values);
    case Epilogue::silu: return silu(values);
  }
}

template <typename T>
void by_blas(ConstMatrixView<T> x, std::span<const Product<T>> products, Epilogue epilogue) {
  for (const auto& [W, bias, out] : products) {
    for (std::size_t i = 0; i < out.rows && bias != nullptr; ++i) {
      std::copy_n(bias, out.cols, out.row(i));
    }
    gemm(T{1}, x, W, bias == nullptr ? T{0} : T{1}, out);
    activate(epilogue, out);
  }
}

}  // namespace

void use_gemm(Gemm gemm) noexcept { chosen = gemm; }

bool blas_multiplies() noexcept {
  return chosen == Gemm::openblas || (chosen == Gemm::automatic && !native_is_faster());
}

void linear(ConstMatrixView<float> x, std::span<const Product<float>> products,
            Epilogue epilogue) {
  if (blas_multiplies()) {
    by_blas(x, products, epilogue);
  } else {
    native_gemm(x, products, epilogue);
  }
}

void linear(ConstMatrixView<double> x, std::span<const Product<double>> products,
            Epilogue epilogue) {
  by_blas(x, products, epilogue);
}

}  // namespace mha
