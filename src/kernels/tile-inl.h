// Included once for each SIMD target (Highway's foreach_target).
#if defined(MHA_KERNELS_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_KERNELS_TILE_INL_H
#undef MHA_KERNELS_TILE_INL_H
#else
#define MHA_KERNELS_TILE_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
// A tile is two vectors wide and, of 32 registers, 24 are sums; of 16, 12: a column of B
// and a broadcast element of A need the rest, and 12 sums or more keep both units of a
// core at work through the four cycles that an addition takes.
constexpr std::size_t kPanel = 2 * kLanes;
constexpr std::size_t kTileRows = HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3 ? 6 : 12;

// What a tile computes: C [rows, kPanel] = (start + A [rows, k] B [k, kPanel]) scale.
// Start values are null (zeros), a row for all (stride 0) or C itself.
struct Tile {
  const float* a = nullptr;
  std::size_t a_stride = 0;
  const float* b = nullptr;
  std::size_t b_stride = 0;
  std::size_t k = 0;
  const float* start = nullptr;
  std::size_t start_stride = 0;
  float scale = 1.0F;
  float* c = nullptr;
  std::size_t c_stride = 0;
};

// What a tile does on its way, which costs nothing beside the products: it takes B's panel
// along to `packed`, or fetches another panel, `next`, whose rows lie as B's do in memory:
// no processor foresees strides of more than a page.
struct Beside {
  float* packed = nullptr;
  const float* next = nullptr;
  std::size_t next_stride = 0;
};
enum class Way { plain, packs, fetches };

// All in registers but B and A. A function of its own: inlined, its addresses would be
// held in vector registers.
template <std::size_t rows, Way way>
HWY_NOINLINE void tile(const Tile& t, const Beside& beside) {
  const D d;
  V sum0[rows];
  V sum1[rows];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < rows; ++i) {
    const float* start = t.start + i * t.start_stride;
    sum0[i] = t.start == nullptr ? hn::Zero(d) : hn::LoadU(d, start);
    sum1[i] = t.start == nullptr ? hn::Zero(d) : hn::LoadU(d, start + kLanes);
  }
  // Three addresses reach twelve rows; a compiler that sees through them makes it
  // twelve, more than there are registers.
  std::size_t stride = t.a_stride;
  std::size_t stride3 = 3 * stride;
  const float* a0 = t.a;
  const float* a4 = a0 + 4 * stride;
  const float* a8 = a4 + 4 * stride;
  asm volatile("" : "+r"(stride), "+r"(stride3));
  const float* HWY_RESTRICT b = t.b;
  float* HWY_RESTRICT packed = beside.packed;
  const float* next = beside.next;
  for (std::size_t p = 0; p < t.k; ++p) {
    const V b0 = hn::LoadU(d, b);
    const V b1 = hn::LoadU(d, b + kLanes);
    if constexpr (way == Way::packs) {
      hn::Store(b0, d, packed);
      hn::Store(b1, d, packed + kLanes);
      packed += kPanel;
    }
    if constexpr (way == Way::fetches) {
      hwy::Prefetch(next);
      hwy::Prefetch(next + kLanes);
      next += beside.next_stride;
    }
    b += t.b_stride;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < rows; ++i) {
      const float* four = i < 4 ? a0 : i < 8 ? a4 : a8;
      const float* a = four + (i % 4 == 3 ? stride3 : i % 4 * stride);
      const V ai = hn::Set(d, *a);
      sum0[i] = hn::MulAdd(ai, b0, sum0[i]);
      sum1[i] = hn::MulAdd(ai, b1, sum1[i]);
    }
    ++a0;
    ++a4;
    ++a8;
    asm volatile("" : "+r"(a0), "+r"(a4), "+r"(a8));
  }
  const V scale = hn::Set(d, t.scale);
#pragma GCC unroll 12
  for (std::size_t i = 0; i < rows; ++i) {
    hn::StoreU(hn::Mul(sum0[i], scale), d, t.c + i * t.c_stride);
    hn::StoreU(hn::Mul(sum1[i], scale), d, t.c + i * t.c_stride + kLanes);
  }
}

// Groups that pack have two thirds of a whole tile's rows at least (more than two tiles'
// rows split evenly), and few rows are gemm_wide()'s: no other tiles that pack or fetch
// need be compiled.
constexpr std::size_t kFewestPacking = 2 * kTileRows / 3;
constexpr std::size_t kFewestFetching = 5;

template <std::size_t rows, Way way>
HWY_INLINE void tile_if_needed(const Tile& t, const Beside& beside) {
  constexpr std::size_t fewest = way == Way::packs     ? kFewestPacking
                                 : way == Way::fetches ? kFewestFetching
                                                       : 1;
  if constexpr (rows >= fewest && rows <= kTileRows) tile<rows, way>(t, beside);
}

template <Way way>
HWY_INLINE void tile_rows(std::size_t rows, const Tile& t, const Beside& beside) {
  switch (rows) {
    case 1: tile_if_needed<1, way>(t, beside); break;
    case 2: tile_if_needed<2, way>(t, beside); break;
    case 3: tile_if_needed<3, way>(t, beside); break;
    case 4: tile_if_needed<4, way>(t, beside); break;
    case 5: tile_if_needed<5, way>(t, beside); break;
    case 6: tile_if_needed<6, way>(t, beside); break;
    case 7: tile_if_needed<7, way>(t, beside); break;
    case 8: tile_if_needed<8, way>(t, beside); break;
    case 9: tile_if_needed<9, way>(t, beside); break;
    case 10: tile_if_needed<10, way>(t, beside); break;
    case 11: tile_if_needed<11, way>(t, beside); break;
    case 12: tile_if_needed<12, way>(t, beside); break;
    default: break;
  }
}

// A tile of any number of rows up to kTileRows.
HWY_INLINE void tile_rows(std::size_t rows, const Tile& t) {
  tile_rows<Way::plain>(rows, t, {});
}

// Columns [0, cols) of b [depth, …] as a panel [depth, kPanel] with zeros behind.
void pack_panel(const float* b, std::size_t b_stride, std::size_t depth, std::size_t cols,
                float* panel) {
  const D d;
  for (std::size_t p = 0; p < depth; ++p) {
    float* to = panel + p * kPanel;
    const float* from = b + p * b_stride;
    if (cols == kPanel) {
      hn::Store(hn::LoadU(d, from), d, to);
      hn::Store(hn::LoadU(d, from + kLanes), d, to + kLanes);
    } else {
      std::size_t j = 0;
      for (; j < cols; ++j) to[j] = from[j];
      for (; j < kPanel; ++j) to[j] = 0.0F;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
