#include "kernels/native_gemm.h"

#include <algorithm>
#include <cstddef>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/simd_table.h"

namespace mha {
namespace {

// Where this thread packs rows of B. A function of its own, since a lambda that runs on
// another thread would not have it freed at that thread's end.
float* panel_of_thread() {
  static thread_local const AlignedBytes panel =
      allocate_aligned(kGemmDepth * kLargestPanel * sizeof(float));
  return reinterpret_cast<float*>(panel.get());
}

// Rows of A that stay in the second cache: those that share packed panels, and, more of
// them, those that pack each panel anew.
constexpr std::size_t kSlab = 120;
constexpr std::size_t kPackingSlab = 240;

std::size_t panels_of(const Product<float>& product) {
  const std::size_t panel = simd().panel;
  return (product.C.cols + panel - 1) / panel;
}

// Task by task: slabs of rows, and for each shares of all products' columns.
void multiply(ConstMatrixView<float> A, std::span<const Product<float>> products,
              Epilogue epilogue, const float* packed) {
  const std::size_t panel = simd().panel;
  std::size_t panels = 0;
  std::size_t cols = 0;
  for (const Product<float>& product : products) {
    panels += panels_of(product);
    cols += product.C.cols;
  }
  const std::size_t slab_rows = packed == nullptr ? kPackingSlab : kSlab;
  const std::size_t slabs = (A.rows + slab_rows - 1) / slab_rows;
  const double flops = 2.0 * static_cast<double>(A.rows * cols) * static_cast<double>(A.cols);
  const bool alone = flops < kWorthThreads;
  const std::size_t wanted = alone ? 1 : 4 * threads_in_use();
  const std::size_t shares = std::min(panels, (wanted + slabs - 1) / slabs);
  const auto work = [&](std::size_t task) {
    const std::size_t slab = task / shares;
    const std::size_t share = task % shares;
    const std::size_t i0 = slab * A.rows / slabs;
    const std::size_t rows = (slab + 1) * A.rows / slabs - i0;
    // Its panels, counted through all products.
    const std::size_t begin = share * panels / shares;
    const std::size_t end = (share + 1) * panels / shares;
    std::size_t first = 0;
    for (const Product<float>& product : products) {
      const std::size_t last = first + panels_of(product);
      const std::size_t from = std::max(begin, first);
      const std::size_t to = std::min(end, last);
      if (from < to) {
        simd().gemm_columns({A.row_block(i0, rows), product.B, product.bias, epilogue,
                             product.C.row_block(i0, rows), packed},
                            (from - first) * panel,
                            std::min((to - first) * panel, product.C.cols), panel_of_thread());
      }
      first = last;
    }
  };
  if (alone) {
    for (std::size_t task = 0; task < slabs * shares; ++task) work(task);
  } else {
    parallel(slabs * shares, work);
  }
}

// Many slabs share the packed panels of as many columns as stay in the third cache.
void multiply_packed(ConstMatrixView<float> A, const Product<float>& product,
                     Epilogue epilogue) {
  constexpr std::size_t kPackedFloats = std::size_t{1} << 20;
  const auto& [B, bias, C] = product;
  const std::size_t panel = simd().panel;
  const std::size_t panels = panels_of(product);
  const std::size_t at_a_time =
      std::min(std::max<std::size_t>(kPackedFloats / (B.rows * panel), 1), panels);
  const AlignedBytes memory = allocate_aligned(at_a_time * panel * B.rows * sizeof(float));
  auto* const packed = reinterpret_cast<float*>(memory.get());
  for (std::size_t p = 0; p < panels; p += at_a_time) {
    const std::size_t first = p * panel;
    const std::size_t cols = std::min(at_a_time * panel, C.cols - first);
    const ConstMatrixView<float> columns = B.col_block(first, cols);
    parallel((cols + panel - 1) / panel, [&](std::size_t i) {
      simd().pack_values(columns.col_block(i * panel, std::min(panel, cols - i * panel)),
                         packed + i * panel * columns.rows);
    });
    const Product<float> part{columns, bias == nullptr ? nullptr : bias + first,
                              C.col_block(first, cols)};
    multiply(A, {&part, 1}, epilogue, packed);
  }
}

}  // namespace

void native_gemm(ConstMatrixView<float> A, std::span<const Product<float>> products,
                 Epilogue epilogue) {
  if (A.rows == 0) return;
  if (A.rows <= kPackingSlab || A.cols == 0) {
    multiply(A, products, epilogue, nullptr);
    return;
  }
  for (const Product<float>& product : products) multiply_packed(A, product, epilogue);
}

}  // namespace mha
