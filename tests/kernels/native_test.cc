// GEMM, epilogues and exponentials of every SIMD target that this processor has.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "catch.h"
#include "kernels/native_gemm.h"
#include "kernels/norm.h"
#include "kernels/simd.h"
#include "support/error_of.h"
#include "support/one_product.h"
#include "support/padded.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Sizes = std::vector<std::size_t>;

Sizes up_to(std::size_t last) {
  Sizes sizes(last + 1);
  std::iota(sizes.begin(), sizes.end(), std::size_t{0});
  return sizes;
}

// Products of all these sizes (ascending) by every target. Whole numbers: each sum
// is exact in f32, in whatever order.
void check_products(const Sizes& ms, const Sizes& ks, const Sizes& ns) {
  const SimdGuard guard;
  std::mt19937 random(static_cast<unsigned>(ms.back() + 7 * ks.back() + 49 * ns.back()));
  const auto digit = [&] { return std::uniform_int_distribution<int>(-4, 4)(random); };
  Padded A(ms.back(), ks.back(), 3);
  Padded B(ks.back(), ns.back(), 5);
  Padded bias(1, ns.back(), 0);
  for (Padded* matrix : {&A, &B, &bias}) matrix->fill(digit);
  Padded C(ms.back(), ns.back(), 2);
  std::string fault;  // the first
  std::vector<double> sums(ms.back() * ns.back());
  std::size_t summed = 0;
  // Whether C [m, n] is what it must be; puts the mark in its place again.
  const auto is_right = [&](std::size_t m, std::size_t n, const float* shift) {
    bool right = true;
    for (std::size_t i = 0; i < m; ++i) {
      float* c = C.view.row(i);
      const double* sum = sums.data() + i * ns.back();
      for (std::size_t j = 0; j < n; ++j) {
        const double more = shift == nullptr ? 0.0 : static_cast<double>(shift[j]);
        right = right && static_cast<double>(c[j]) == sum[j] + more;
        c[j] = Padded::kMark;
      }
    }
    return right;
  };
  for (const std::size_t k : ks) {
    for (; summed < k; ++summed) {
      for (std::size_t i = 0; i < ms.back(); ++i) {
        const auto a = static_cast<double>(A.view(i, summed));
        const float* b = B.view.row(summed);
        double* sum = sums.data() + i * ns.back();
        for (std::size_t j = 0; j < ns.back(); ++j) sum[j] += a * static_cast<double>(b[j]);
      }
    }
    for (const std::string& target : simd_targets()) {
      use_simd_target(target);
      for (const std::size_t m : ms) {
        for (const std::size_t n : ns) {
          const float* shift = digit() > 0 ? bias.view.data : nullptr;
          native_gemm(A.view.row_block(0, m).col_block(0, k),
                      B.view.row_block(0, k).col_block(0, n), shift, Epilogue::none,
                      C.view.row_block(0, m).col_block(0, n));
          if (!is_right(m, n, shift) && fault.empty()) {
            fault = target + ": [" + std::to_string(m) + ", " + std::to_string(k) + "] [" +
                    std::to_string(k) + ", " + std::to_string(n) + "]";
          }
        }
      }
    }
  }
  CHECK(fault == "");
  // What was written has its mark again, and nothing else ever lost it.
  CHECK(C.marks() == C.size());
}

// x by an epilogue: a product of 1 with a row. The bias keeps the sign of -0.
std::vector<float> applied(Epilogue epilogue, const std::vector<float>& x) {
  const float one = 1.0F;
  const std::vector<float> bias(x.size(), -0.0F);
  std::vector<float> result(x.size());
  native_gemm({&one, 1, 1}, {x.data(), 1, x.size()}, bias.data(), epilogue,
              {result.data(), 1, x.size()});
  return result;
}

long double sigmoid(long double u) { return 1 / (1 + std::exp(-u)); }

// As the papers write them, in long double, and how many units of the last digit
// (2^-23 of the result) they were measured to be wrong at x < 0, rounded up: the
// rounding of the exponent counts as often as it is large. At x >= 0 `above`.
struct Activation {
  const char* name;
  Epilogue epilogue;
  long double (*formula)(long double);
  long double above;
  long double (*below)(long double size);
};
const std::array<Activation, 5> kActivations = {{
    {"relu", Epilogue::relu, [](long double x) { return x > 0 ? x : 0; }, 0.0L,
     [](long double) { return 0.0L; }},
    {"gelu", Epilogue::gelu,
     [](long double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<long double>); },
     3.0L, [](long double x) { return 4 + x * x; }},
    {"gelu_tanh", Epilogue::gelu_tanh,
     [](long double x) {
       const long double root = std::sqrt(2 / std::numbers::pi_v<long double>);
       return x * sigmoid(2 * root * (x + 0.044715L * x * x * x));
     },
     1.5L, [](long double x) { return 4 + 2 * x + x * x * x / 5; }},
    {"quick_gelu", Epilogue::quick_gelu, [](long double x) { return x * sigmoid(1.702L * x); },
     1.5L, [](long double x) { return 4 + x; }},
    {"silu", Epilogue::silu, [](long double x) { return x * sigmoid(x); }, 1.5L,
     [](long double x) { return 4 + x; }},
}};

}  // namespace

TEST_CASE("SIMD targets have names of their own, the best is used until one is chosen") {
  const SimdGuard guard;
  const std::vector<std::string> targets = simd_targets();
  CHECK(std::set<std::string>(targets.begin(), targets.end()).size() == targets.size());
  CHECK(targets.back() == "baseline");
  CHECK(simd_target() == targets.front());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    use_simd_target(targets[i]);
    CHECK(simd_target() == targets[i]);
    CHECK(simd_lanes() >= 1);
    CHECK((simd_lanes() & (simd_lanes() - 1)) == 0);
  }
  const std::string error = error_of([] { use_simd_target("MMX"); });
  CHECK(error.find("MMX is no SIMD unit of this processor, which has ") == 0);
  CHECK(error.find(", baseline") == error.size() - 10);
  CHECK(simd_target() == targets.back());
}

TEST_CASE("products of strided matrices are exact on every target, at every small size") {
  check_products(up_to(40), up_to(40), up_to(40));
}

TEST_CASE("products are exact on every target at the edges of tiles, panels and depth") {
  const Sizes tile = {1, 2, 11, 12, 13, 15, 16, 17, 31, 32, 33};
  const Sizes big = {511, 512, 513, 1023, 1024, 1025};
  check_products(tile, big, tile);
  check_products({1, 239, 240, 241, 480, 481, 512, 1025}, {7, 513}, {1, 33});
  check_products({1, 13, 25}, {1, 513}, big);
}

TEST_CASE("products of few rows are exact where wide pieces, panels and the rest meet") {
  // Four tasks share the columns: a quarter of these is a multiple of a wide piece of some
  // target, or a panel more, or a few columns more.
  check_products({1, 2, 3, 4, 5}, {1, 512, 513},
                 {1,   31,  33,  63,  64,  65,  127, 128, 129,  165,  255,  256,  257,
                  263, 325, 391, 511, 512, 513, 517, 645, 1023, 1024, 1025, 1130, 1157});
}

TEST_CASE("products are exact where groups of rows begin to pack and to share panels") {
  check_products({13, 18, 19, 24, 25, 36, 37}, {1, 511, 512, 513, 1025}, {63, 64, 65});
  check_products({239, 240, 241, 242, 243, 481}, {1, 512, 1025}, {1, 31, 32, 33, 65});
}

TEST_CASE("products of real numbers are as right as sums one by one are") {
  const SimdGuard guard;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Padded A(13, 1025, 1);
  Padded B(1025, 33, 1);
  for (Padded* matrix : {&A, &B}) matrix->fill([&] { return normal(random); });
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    Padded C(13, 33, 1);
    native_gemm(A.view, B.view, nullptr, Epilogue::none, C.view);
    double worst = 0.0;  // of |error| / sum of |a b|
    for (std::size_t i = 0; i < 13; ++i) {
      for (std::size_t j = 0; j < 33; ++j) {
        double sum = 0.0;
        double sizes = 0.0;
        for (std::size_t p = 0; p < 1025; ++p) {
          const double product =
              static_cast<double>(A.view(i, p)) * static_cast<double>(B.view(p, j));
          sum += product;
          sizes += std::abs(product);
        }
        worst = std::max(worst, std::abs(static_cast<double>(C.view(i, j)) - sum) / sizes);
      }
    }
    CAPTURE(target);
    CHECK(worst <= 2e-7);  // 1025 roundings could come to 6e-5
    CHECK(C.padding_untouched());
  }
}

TEST_CASE("a product has the same bytes on any number of threads") {
  const SimdGuard guard;
  const ThreadsGuard threads_guard;
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  const std::size_t rows = GENERATE(2, 61, 300);
  const std::size_t cols = rows == 2 ? 2090 : 190;
  Padded A(rows, 530, 1);  // 4 million operations, so that threads are worth it
  Padded B(530, cols, 3);
  Padded bias(1, cols, 0);
  for (Padded* matrix : {&A, &B, &bias}) matrix->fill([&] { return normal(random); });
  std::vector<float> expected(rows * cols);
  const MatrixView<float> one_thread(expected.data(), rows, cols);
  native_gemm(A.view, B.view, bias.view.data, Epilogue::gelu, one_thread);
  for (const std::size_t threads : {2, 3, 4}) {
    use_threads(threads);
    std::vector<float> found(rows * cols, Padded::kMark);
    native_gemm(A.view, B.view, bias.view.data, Epilogue::gelu, {found.data(), rows, cols});
    CAPTURE(rows, threads);
    CHECK(std::memcmp(found.data(), expected.data(), 4 * found.size()) == 0);
  }
}

TEST_CASE("activations are their formulas on every target") {
  const SimdGuard guard;
  std::vector<float> x = {0.0F};
  for (int i = -10000; i <= 10000; ++i) x.push_back(static_cast<float>(i) / 100.0F);
  for (float tiny = 1e-38F; tiny < 1.0F; tiny *= 1.1F) {
    x.push_back(tiny);
    x.push_back(-tiny);
  }
  const auto unit = static_cast<long double>(std::numeric_limits<float>::epsilon());
  std::vector<std::array<long double, kActivations.size()>> expected;
  for (const float value : x) {
    auto& row = expected.emplace_back();
    for (std::size_t a = 0; a < kActivations.size(); ++a)
      row[a] = kActivations[a].formula(value);
  }
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    for (std::size_t a = 0; a < kActivations.size(); ++a) {
      const Activation& activation = kActivations[a];
      const std::vector<float> found = applied(activation.epilogue, x);
      long double worst = 0.0L;  // of |error| / what is allowed
      float where = 0.0F;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double want = expected[i][a];
        const long double units = x[i] < 0.0F ? activation.below(-x[i]) : activation.above;
        // An exponential below the smallest normal number (1.2e-38) is 0.
        const long double allowed = units * unit * std::abs(want) + 1.2e-36L;
        const long double wrong = std::abs(found[i] - want) / allowed;
        if (!(wrong <= worst)) {
          worst = wrong;
          where = x[i];
        }
      }
      CAPTURE(target, activation.name, where);
      CHECK(worst <= 1.0L);
    }
  }
}

TEST_CASE("activations keep zeros and NaN, and large numbers pass or vanish") {
  const SimdGuard guard;
  const float most = std::numeric_limits<float>::max();
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    for (const Activation& activation : kActivations) {
      const auto found = applied(activation.epilogue, {0.0F, -0.0F, kNan, kInfinity, 100.0F,
                                                       1e20F, most, -100.0F, -1e20F, -most});
      CAPTURE(target, activation.name);
      CHECK((found[0] == 0.0F && !std::signbit(found[0])));
      CHECK((found[1] == 0.0F && std::signbit(found[1])));
      CHECK(std::isnan(found[2]));
      CHECK(std::vector<float>(found.begin() + 3, found.begin() + 7) ==
            std::vector<float>{kInfinity, 100.0F, 1e20F, most});
      CHECK(std::vector<float>(found.begin() + 7, found.end()) ==
            std::vector<float>{0.0F, 0.0F, 0.0F});
      // Inf times 0 may be NaN, but it is no number.
      const float below = applied(activation.epilogue, {-kInfinity})[0];
      CHECK((below == 0.0F || std::isnan(below)));
    }
  }
}

TEST_CASE("an epilogue comes once, after all products, in whole and in narrow panels") {
  const SimdGuard guard;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const std::size_t depth = GENERATE(1, 512, 513, 1030);
  const std::size_t rows = GENERATE(1, 13, 30);
  Padded A(rows, depth, 1);
  Padded B(depth, 75, 1);
  Padded bias(1, 75, 0);
  for (Padded* matrix : {&A, &B, &bias}) matrix->fill([&] { return normal(random); });
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    Padded sums(rows, 75, 1);
    native_gemm(A.view, B.view, bias.view.data, Epilogue::none, sums.view);
    for (const Activation& activation : kActivations) {
      Padded C(rows, 75, 1);
      native_gemm(A.view, B.view, bias.view.data, activation.epilogue, C.view);
      bool equal = true;
      for (std::size_t i = 0; i < rows; ++i) {
        const float* row = sums.view.row(i);
        const auto want = applied(activation.epilogue, std::vector<float>(row, row + 75));
        equal = equal && std::memcmp(C.view.row(i), want.data(), sizeof(float) * 75) == 0;
      }
      CAPTURE(target, activation.name, depth, rows);
      CHECK(equal);
      CHECK(C.padding_untouched());
    }
  }
}

TEST_CASE("norms are right to the last digit on every target, at every small width") {
  const SimdGuard guard;
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    for (std::size_t width = 1; width <= 80; ++width) {
      const bool centred = width % 2 == 0;
      Padded x(3, width, 3);
      Padded out(3, width, 2);
      Padded weight(1, width, 0);
      Padded bias(1, width, 0);
      for (Padded* matrix : {&x, &weight, &bias}) {
        matrix->fill([&] { return 3.0F + normal(random); });
      }
      const std::span<const float> scales(weight.view.data, width);
      const std::span<const float> shifts(bias.view.data, width % 3 == 0 ? 0 : width);
      (centred ? layer_norm<float> : rms_norm<float>)(x.view, scales, shifts, 1e-5, out.view);
      double worst = 0.0;
      for (std::size_t i = 0; i < 3; ++i) {
        const float* row = x.view.row(i);
        const double n = static_cast<double>(width);
        const double mean = centred ? std::accumulate(row, row + width, 0.0) / n : 0.0;
        double squares = 0.0;
        for (std::size_t j = 0; j < width; ++j) {
          squares +=
              (static_cast<double>(row[j]) - mean) * (static_cast<double>(row[j]) - mean);
        }
        for (std::size_t j = 0; j < width; ++j) {
          const double want = (static_cast<double>(row[j]) - mean) /
                                  std::sqrt(squares / n + 1e-5) *
                                  static_cast<double>(weight.view.data[j]) +
                              (shifts.empty() ? 0.0 : static_cast<double>(shifts[j]));
          const double allowed = 0.51 * std::numeric_limits<float>::epsilon() * std::abs(want);
          worst =
              std::max(worst, std::abs(static_cast<double>(out.view(i, j)) - want) - allowed);
        }
      }
      CAPTURE(target, width);
      CHECK(worst <= 1e-13);
      CHECK(out.padding_untouched());
    }
    // What does not fit in f32 is Inf, not its largest number.
    std::vector<float> values(33, 1.0F);
    const std::vector<float> weight(33, std::numeric_limits<float>::max());
    const std::vector<float> bias = weight;
    const MatrixView<float> row(values.data(), 1, 33);
    rms_norm<float>(row, weight, bias, 0.0, row);
    CHECK(values == std::vector<float>(33, kInfinity));
  }
}

TEST_CASE("exponentials are within two units of the last digit on every target") {
  const SimdGuard guard;
  const float least = -87.33654F;
  std::vector<float> x;
  for (double value = 0.0; value > static_cast<double>(least); value -= 1.37 / 512) {
    x.push_back(static_cast<float>(value));
  }
  for (float tiny = -1e-38F; tiny > -1.0F; tiny *= 1.01F) x.push_back(tiny);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    std::vector<float> found = x;
    exp_negative(found);
    long double worst = 0.0L;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double want = std::exp(static_cast<long double>(x[i]));
      const long double unit = std::ldexp(1.0L, std::ilogb(want) - 23);
      worst = std::max(worst, std::abs(found[i] - want) / unit);
    }
    CAPTURE(target);
    CHECK(worst <= 1.5L);
    CHECK(found[0] == 1.0F);  // e^0
    std::vector<float> gone = {-kInfinity, -std::numeric_limits<float>::max(), -1e4F, -87.34F};
    exp_negative(gone);
    CHECK(gone == std::vector<float>(4, 0.0F));
    // Every length, with what stands behind it left alone.
    for (std::size_t n = 0; n <= 40; ++n) {
      std::vector<float> some(x.begin() + 500, x.begin() + 550);
      exp_negative({some.data(), n});
      CHECK(std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n),
                       found.begin() + 500));
      CHECK(std::equal(some.begin() + static_cast<std::ptrdiff_t>(n), some.end(),
                       x.begin() + 500 + static_cast<std::ptrdiff_t>(n)));
    }
  }
}

}  // namespace mha
