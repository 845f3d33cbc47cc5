// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_GEMM_INL_H
#undef MHA_KERNELS_GEMM_INL_H
#else
#define MHA_KERNELS_GEMM_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/epilogue-inl.h"
#include "kernels/simd_table.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// Where A has few rows, reading B once is what takes the time, and a longer piece
// of each of its rows comes faster than a panel's: `vectors` of columns from `first` on.
template <std::size_t rows, std::size_t vectors>
HWY_NOINLINE void gemm_wide(const GemmArguments& gemm, std::size_t first) {
  const D d;
  V sums[rows][vectors];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < vectors; ++v) {
    const V start =
        gemm.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, gemm.bias + first + v * kLanes);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < rows; ++i) sums[i][v] = start;
  }
  const float* b = gemm.B.data + first;
  for (std::size_t p = 0; p < gemm.B.rows; ++p, b += gemm.B.stride) {
    V a[rows];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < rows; ++i) a[i] = hn::Set(d, gemm.A(i, p));
#pragma GCC unroll 16
    for (std::size_t v = 0; v < vectors; ++v) {
      const V bv = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < rows; ++i) sums[i][v] = hn::MulAdd(a[i], bv, sums[i][v]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < rows; ++i) {
    float* c = gemm.C.row(i) + first;
#pragma GCC unroll 16
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(activated(gemm.epilogue, sums[i][v]), d, c + v * kLanes);
    }
  }
}

// As many of C's columns from `first` on as go into whole pieces; returns how many.
std::size_t gemm_few_rows(const GemmArguments& gemm, std::size_t first, std::size_t cols) {
  // Sums that fit in the registers, some left over for B and A.
  constexpr std::size_t kSums = kTileRows == 12 ? 16 : 8;
  void (*piece)(const GemmArguments&, std::size_t) = nullptr;
  std::size_t vectors = 0;
  switch (gemm.A.rows) {
    case 1: piece = &gemm_wide<1, kSums>, vectors = kSums; break;
    case 2: piece = &gemm_wide<2, kSums / 2>, vectors = kSums / 2; break;
    case 3: piece = &gemm_wide<3, kSums / 4>, vectors = kSums / 4; break;
    case 4: piece = &gemm_wide<4, kSums / 4>, vectors = kSums / 4; break;
    default: return 0;
  }
  std::size_t done = 0;
  for (; done + vectors * kLanes <= cols; done += vectors * kLanes) piece(gemm, first + done);
  return done;
}

// One whole panel of C's columns, from `first` on. Where B is not packed, the first
// group of rows packs the panel on its way, if others follow that it pays for, and the
// last one fetches the next, of which there is one before `end`.
void gemm_panel(const GemmArguments& gemm, std::size_t first, std::size_t end, float* panel) {
  const ConstMatrixView<float>& B = gemm.B;
  const std::size_t n = gemm.A.rows;
  const std::size_t groups = (n + kTileRows - 1) / kTileRows;
  HWY_ALIGN float start[kPanel] = {};
  if (gemm.bias != nullptr) std::copy_n(gemm.bias + first, kPanel, start);
  for (std::size_t k0 = 0; k0 == 0 || k0 < B.rows; k0 += kGemmDepth) {
    const std::size_t depth = std::min(kGemmDepth, B.rows - k0);
    Tile tile;
    tile.a_stride = gemm.A.stride;
    tile.b = B.data + k0 * B.stride + first;
    tile.b_stride = B.stride;
    if (gemm.packed != nullptr) {
      tile.b = gemm.packed + first * B.rows + k0 * kPanel;
      tile.b_stride = kPanel;
    }
    tile.k = depth;
    tile.c_stride = gemm.C.stride;
    const float* next = nullptr;
    if (k0 + 2 * depth <= B.rows) {
      next = B.data + (k0 + depth) * B.stride + first;
    } else if (first + 2 * kPanel <= end) {
      next = B.data + first + kPanel;
    }
    for (std::size_t g = 0; g < groups; ++g) {
      // Rows split evenly: 16 are 8 + 8, not 12 + 4.
      const std::size_t i0 = g * n / groups;
      const std::size_t rows = (g + 1) * n / groups - i0;
      tile.a = gemm.A.row(i0) + k0;
      tile.c = gemm.C.row(i0) + first;
      tile.start = k0 == 0 ? start : tile.c;
      tile.start_stride = k0 == 0 ? 0 : tile.c_stride;
      if (gemm.packed != nullptr) {
        tile_rows(rows, tile);
      } else if (g == 0 && groups > 2) {
        tile_rows<Way::packs>(rows, tile, {panel, nullptr, 0});
        tile.b = panel;
        tile.b_stride = kPanel;
      } else if (g + 1 == groups && next != nullptr && rows >= kFewestFetching) {
        tile_rows<Way::fetches>(rows, tile, {nullptr, next, B.stride});
      } else {
        tile_rows(rows, tile);
      }
      if (k0 + depth == B.rows) finish_tile(gemm.epilogue, rows, tile.c, tile.c_stride);
    }
  }
}

// C's last columns, from `first` on, fewer than a panel: as a whole panel of zeros
// beside them, a group of rows at a time.
void gemm_last_columns(const GemmArguments& gemm, std::size_t first, float* panel) {
  const std::size_t cols = gemm.C.cols - first;
  HWY_ALIGN float start[kPanel] = {};
  if (gemm.bias != nullptr) std::copy_n(gemm.bias + first, cols, start);
  HWY_ALIGN float sums[kTileRows * kPanel];
  for (std::size_t k0 = 0; k0 == 0 || k0 < gemm.B.rows; k0 += kGemmDepth) {
    const std::size_t depth = std::min(kGemmDepth, gemm.B.rows - k0);
    const float* b = panel;
    if (gemm.packed != nullptr) {
      b = gemm.packed + first * gemm.B.rows + k0 * kPanel;
    } else {
      pack_panel(gemm.B.data + k0 * gemm.B.stride + first, gemm.B.stride, depth, cols, panel);
    }
    for (std::size_t i0 = 0; i0 < gemm.A.rows; i0 += kTileRows) {
      const std::size_t rows = std::min(kTileRows, gemm.A.rows - i0);
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(k0 == 0 ? start : gemm.C.row(i0 + i) + first, cols, sums + i * kPanel);
      }
      tile_rows(rows, {gemm.A.row(i0) + k0, gemm.A.stride, b, kPanel, depth, sums, kPanel,
                       1.0F, sums, kPanel});
      if (k0 + depth == gemm.B.rows) finish_tile(gemm.epilogue, rows, sums, kPanel);
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(sums + i * kPanel, cols, gemm.C.row(i0 + i) + first);
      }
    }
  }
}

// C's columns [first, end), `first` a multiple of kPanel, `end` too or C's last.
void gemm_columns(const GemmArguments& gemm, std::size_t first, std::size_t end,
                  float* panel) {
  first += gemm_few_rows(gemm, first, end - first);
  for (; first + kPanel <= end; first += kPanel) gemm_panel(gemm, first, end, panel);
  if (first < end) gemm_last_columns(gemm, first, panel);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
