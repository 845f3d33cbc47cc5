// Fused attention of every SIMD target that this processor has against loops in
// double.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/memory.h"
#include "catch.h"
#include "kernels/fused_attend.h"
#include "kernels/simd.h"
#include "support/padded.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Aligned floats that are NaN until they are written, with a mark behind the last.
class Poisoned {
 public:
  explicit Poisoned(std::size_t floats)
      : memory_(allocate_aligned((floats + kGuard) * sizeof(float))), floats_(floats) {
    std::fill_n(data(), floats, kNan);
    std::fill_n(data() + floats, kGuard, Padded::kMark);
  }
  float* data() const { return reinterpret_cast<float*>(memory_.get()); }
  bool end_untouched() const {
    return std::all_of(data() + floats_, data() + floats_ + kGuard,
                       [](float x) { return x == Padded::kMark; });
  }

 private:
  static constexpr std::size_t kGuard = 64;
  AlignedBytes memory_;
  std::size_t floats_;
};

enum class Changes { none, hide, add, both };

// What ScoreChange does here to query i and key j.
class Change final : public ScoreChange {
 public:
  Change(Changes changes, std::size_t first_row, std::size_t rows, std::size_t n_keys)
      : changes_(changes), first_row_(first_row), rows_(rows), n_keys_(n_keys) {}

  static bool hides(Changes changes, std::size_t i, std::size_t j) {
    if (changes == Changes::none || changes == Changes::add) return false;
    // Some rows whole, whole blocks of keys, and some keys here and there.
    return i % 11 == 5 || (j / 512 + i) % 5 == 1 || (i * 31 + j * 17) % 4 == 0;
  }
  static float added(Changes changes, std::size_t i, std::size_t j) {
    if (changes == Changes::none || changes == Changes::hide) return 0.0F;
    // Later keys count for more: the largest score grows from block to block.
    return static_cast<float>((i * 7 + j * 3) % 64) / 16.0F + static_cast<float>(j) / 128.0F;
  }

  void apply(std::size_t row, std::size_t key, MatrixView<float> scores) const override {
    within_ = within_ && row + scores.rows <= rows_ && key + scores.cols <= n_keys_;
    for (std::size_t i = 0; i < scores.rows; ++i) {
      for (std::size_t j = 0; j < scores.cols; ++j) {
        const std::size_t query = first_row_ + row + i;
        scores(i, j) = hides(changes_, query, key + j)
                           ? -kInfinity
                           : scores(i, j) + added(changes_, query, key + j);
      }
    }
  }
  bool within() const { return within_; }

 private:
  Changes changes_;
  std::size_t first_row_;
  std::size_t rows_;
  std::size_t n_keys_;
  mutable bool within_ = true;
};

struct Sizes {
  std::size_t rows, n_keys, d_head, d_v;
};

enum class Positions { all, causal, causal_end, sliding, limit, beyond };
constexpr std::array kPositions = {Positions::all,        Positions::causal,
                                   Positions::causal_end, Positions::sliding,
                                   Positions::limit,      Positions::beyond};

// Row 0 of the block is somewhere among the queries.
KeyWindow window_of(Positions positions, const Sizes& sizes, std::mt19937& random) {
  const auto rows = static_cast<std::ptrdiff_t>(sizes.rows);
  const auto keys = static_cast<std::ptrdiff_t>(sizes.n_keys);
  const auto among = [&](std::ptrdiff_t least, std::ptrdiff_t most) {
    return std::uniform_int_distribution<std::ptrdiff_t>(least, most)(random);
  };
  const std::ptrdiff_t all = keys + rows;
  KeyWindow window{-all, all, sizes.n_keys};
  switch (positions) {
    case Positions::all: break;
    case Positions::causal: window.end = among(0, keys) + 1; break;
    case Positions::causal_end: window.end = keys - rows + 1; break;
    case Positions::sliding:
      window.first = among(-rows, keys);
      window.end = window.first + among(0, 12);
      break;
    case Positions::limit:
      window.limit = static_cast<std::size_t>(among(0, keys));
      window.end = among(-rows, all);
      break;
    case Positions::beyond:
      window.first = keys - among(0, rows);
      break;  // the last see nothing
  }
  return window;
}

struct Wanted {
  std::vector<double> output, scores, map;  // [rows, d_v], [rows, n_keys] twice
  std::vector<double> lengths;              // |q| |k| scale of each score
  std::size_t empty = 0;
};

Wanted by_loops(const Sizes& sizes, ConstMatrixView<float> q, ConstMatrixView<float> k,
                ConstMatrixView<float> v, float scale, const KeyWindow& window,
                Changes changes) {
  Wanted wanted;
  wanted.output.assign(sizes.rows * sizes.d_v, 0.0);
  wanted.scores.assign(sizes.rows * sizes.n_keys, -std::numeric_limits<double>::infinity());
  wanted.map.assign(sizes.rows * sizes.n_keys, 0.0);
  wanted.lengths.assign(sizes.rows * sizes.n_keys, 0.0);
  for (std::size_t i = 0; i < sizes.rows; ++i) {
    double* scores = wanted.scores.data() + i * sizes.n_keys;
    double* map = wanted.map.data() + i * sizes.n_keys;
    const auto row = static_cast<std::ptrdiff_t>(i);
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < sizes.n_keys; ++j) {
      const auto key = static_cast<std::ptrdiff_t>(j);
      if (key < row + window.first || key >= row + window.end || j >= window.limit ||
          Change::hides(changes, i, j)) {
        continue;
      }
      double sum = 0.0;
      double length = 0.0;
      for (std::size_t p = 0; p < sizes.d_head; ++p) {
        const double product = static_cast<double>(q(i, p)) * static_cast<double>(k(j, p));
        sum += product;
        length += std::abs(product);
      }
      const auto added = static_cast<double>(Change::added(changes, i, j));
      scores[j] = sum * static_cast<double>(scale) + added;
      wanted.lengths[i * sizes.n_keys + j] = length * static_cast<double>(scale) + added;
      largest = std::max(largest, scores[j]);
    }
    if (std::isinf(largest)) {
      ++wanted.empty;
      continue;
    }
    double sum = 0.0;
    for (std::size_t j = 0; j < sizes.n_keys; ++j) sum += std::exp(scores[j] - largest);
    for (std::size_t j = 0; j < sizes.n_keys; ++j) {
      map[j] = std::exp(scores[j] - largest) / sum;
      if (map[j] == 0.0) continue;
      for (std::size_t c = 0; c < sizes.d_v; ++c) {
        wanted.output[i * sizes.d_v + c] += map[j] * static_cast<double>(v(j, c));
      }
    }
  }
  return wanted;
}

// The largest of what was found to be wrong, in f32's epsilon.
struct Worst {
  double scores = 0.0;  // relative to lengths
  double map = 0.0;     // relative to an entry and how large its score is
  double output = 0.0;  // values are below 1
  double sum = 0.0;     // of a map's row, less 1
};

class Case {
 public:
  Case(const Sizes& sizes, const KeyWindow& window, Changes changes, std::mt19937& random)
      : sizes_(sizes),
        changes_(changes),
        window_(window),
        scale_(1.5F / std::sqrt(static_cast<float>(sizes.d_head))),
        q_(sizes.rows, sizes.d_head, 3),
        k_(sizes.n_keys, sizes.d_head, 1),
        v_(sizes.n_keys, sizes.d_v, 2) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (Padded* matrix : {&q_, &k_, &v_}) matrix->fill([&] { return uniform(random); });
    wanted_ = by_loops(sizes, q_.view, k_.view, v_.view, scale_, window, changes);
  }

  // By the target in use; what is not as it must be, or nothing.
  std::string fault(Worst& worst) const {
    const Poisoned keys(packed_keys_size(sizes_.n_keys, sizes_.d_head));
    const Poisoned values(packed_values_size(sizes_.n_keys, sizes_.d_v));
    pack_keys(k_.view, keys.data());
    pack_values(v_.view, values.data());
    if (!keys.end_untouched() || !values.end_untouched()) return "packed beyond the end";
    const Found whole = attend(keys, values, 0, sizes_.rows, true, true);
    if (!whole.fault.empty()) return whole.fault;
    for (const auto& [scores, map] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
      const Found found = attend(keys, values, 0, sizes_.rows, scores, map);
      if (!found.fault.empty()) return found.fault;
      if (found.empty != whole.empty || !same(found.output, whole.output) ||
          (scores && !same(found.scores, whole.scores)) ||
          (map && !same(found.map, whole.map))) {
        return "other bits where less is kept";
      }
    }
    // In two blocks, as threads share the rows.
    const std::size_t half = sizes_.rows / 2;
    if (half > 0) {
      Found upper = attend(keys, values, 0, half, true, true);
      const Found lower = attend(keys, values, half, sizes_.rows - half, true, true);
      for (const auto member : {&Found::output, &Found::scores, &Found::map}) {
        (upper.*member)
            .insert((upper.*member).end(), (lower.*member).begin(), (lower.*member).end());
        if (!same(upper.*member, whole.*member)) return "other bits in two blocks";
      }
    }
    return compare(whole, worst);
  }

 private:
  struct Found {
    std::vector<float> output, scores, map;
    std::size_t empty = 0;
    std::string fault;
  };

  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), sizeof(float) * a.size()) == 0;
  }

  static std::vector<float> elements(ConstMatrixView<float> view) {
    std::vector<float> result;
    for (std::size_t i = 0; i < view.rows; ++i) {
      result.insert(result.end(), view.row(i), view.row(i) + view.cols);
    }
    return result;
  }

  // Rows [first, first + rows).
  Found attend(const Poisoned& keys, const Poisoned& values, std::size_t first,
               std::size_t rows, bool wants_scores, bool wants_map) const {
    const Poisoned scratch(attend_scratch(rows, sizes_.d_v, sizes_.n_keys));
    Padded output(rows, sizes_.d_v, 5);
    Padded scores(rows, sizes_.n_keys, 1);
    Padded map(rows, sizes_.n_keys, 3);
    const Change change(changes_, first, rows, sizes_.n_keys);
    AttendBlock block;
    block.q = ConstMatrixView<float>(q_.view).row_block(first, rows);
    block.n_keys = sizes_.n_keys;
    block.packed_keys = keys.data();
    block.packed_values = values.data();
    block.scale = scale_;
    block.window = window_;
    block.window.first += static_cast<std::ptrdiff_t>(first);
    block.window.end += static_cast<std::ptrdiff_t>(first);
    block.change = changes_ == Changes::none ? nullptr : &change;
    block.output = output.view;
    if (wants_scores) block.scores = scores.view;
    if (wants_map) block.map = map.view;
    Found found;
    found.empty = attend_rows(block, scratch.data());
    found.output = elements(output.view);
    if (wants_scores) found.scores = elements(scores.view);
    if (wants_map) found.map = elements(map.view);
    if (!scratch.end_untouched()) found.fault = "scratch used beyond its end";
    if (!change.within()) found.fault = "a change of scores that are not there";
    if (!output.padding_untouched() || (wants_scores && !scores.padding_untouched()) ||
        (wants_map && !map.padding_untouched())) {
      found.fault = "padding written, or elements not";
    }
    return found;
  }

  std::string compare(const Found& found, Worst& worst) const {
    constexpr double kUnit = std::numeric_limits<float>::epsilon();
    const auto raise = [](double& most, double value) {
      if (!(value <= most)) most = value;  // NaN stays
    };
    if (found.empty != wanted_.empty) return "other rows that see nothing";
    for (std::size_t i = 0; i < sizes_.rows; ++i) {
      double sum = 0.0;
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < sizes_.n_keys; ++j) {
        largest = std::max(largest, wanted_.scores[i * sizes_.n_keys + j]);
      }
      for (std::size_t j = 0; j < sizes_.n_keys; ++j) {
        const std::size_t at = i * sizes_.n_keys + j;
        const double score = wanted_.scores[at];
        const auto map = static_cast<double>(found.map[at]);
        sum += map;
        if (std::isinf(score)) {
          if (found.scores[at] != -kInfinity) return "a hidden score that is not -Inf";
          if (found.map[at] != 0.0F || std::signbit(found.map[at])) {
            return "a hidden weight that is not 0";
          }
          continue;
        }
        raise(worst.scores, std::abs(static_cast<double>(found.scores[at]) - score) / kUnit /
                                wanted_.lengths[at]);
        raise(worst.map, std::abs(map - wanted_.map[at]) / kUnit / wanted_.map[at] /
                             (4.0 + std::abs(score) + std::abs(largest)));
      }
      const bool empty = std::isinf(largest);
      raise(worst.sum, std::abs(sum - (empty ? 0.0 : 1.0)) / kUnit);
      for (std::size_t c = 0; c < sizes_.d_v; ++c) {
        const std::size_t at = i * sizes_.d_v + c;
        if (empty && found.output[at] != 0.0F) return "a row that sees nothing is not 0";
        raise(worst.output,
              std::abs(static_cast<double>(found.output[at]) - wanted_.output[at]) / kUnit);
      }
    }
    return "";
  }

  Sizes sizes_;
  Changes changes_;
  KeyWindow window_;
  float scale_;
  Padded q_;
  Padded k_;
  Padded v_;
  Wanted wanted_;
};

class Checks {
 public:
  // With what comes next of positions and changes.
  void run(const Sizes& sizes) {
    const Positions positions = kPositions[count_ % kPositions.size()];
    const auto changes = static_cast<Changes>(count_ / kPositions.size() % 4);
    ++count_;
    run(sizes, window_of(positions, sizes, random_), changes);
  }

  void run(const Sizes& sizes, const KeyWindow& window, Changes changes) {
    const Case one(sizes, window, changes, random_);
    for (const std::string& target : simd_targets()) {
      use_simd_target(target);
      Worst worst;
      const std::string fault = one.fault(worst);
      CAPTURE(target, sizes.rows, sizes.n_keys, sizes.d_head, sizes.d_v, window.first,
              window.end, window.limit, static_cast<int>(changes));
      CHECK(fault == "");
      // Measured: 2.1, 1.2, 2.6, 4.7.
      CHECK(worst.scores <= 3.0);
      CHECK(worst.map <= 2.0);
      CHECK(worst.output <= 4.0);
      CHECK(worst.sum <= 8.0);
    }
  }

  std::size_t among(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }

 private:
  std::mt19937 random_{1};
  SimdGuard guard_;
  std::size_t count_ = 0;
};

}  // namespace

TEST_CASE("keys are packed in columns and values in rows, zeros behind the last") {
  const SimdGuard guard;
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    const std::size_t panel = 2 * simd_lanes();
    for (std::size_t rows = 1; rows <= 70; ++rows) {
      const std::size_t cols = rows * 7 % 71 + 1;
      Padded matrix(rows, cols, 3);
      float next = 0.0F;
      matrix.fill([&] { return next += 1.0F; });
      const Poisoned keys(packed_keys_size(rows, cols));
      const Poisoned values(packed_values_size(rows, cols));
      pack_keys(matrix.view, keys.data());
      pack_values(matrix.view, values.data());
      std::size_t wrong = 0;
      for (std::size_t at = 0; at < packed_keys_size(rows, cols); ++at) {
        const std::size_t row = at / (panel * cols) * panel + at % panel;
        const std::size_t col = at / panel % cols;
        wrong += keys.data()[at] == (row < rows ? matrix.view(row, col) : 0.0F) ? 0 : 1;
      }
      for (std::size_t at = 0; at < packed_values_size(rows, cols); ++at) {
        const std::size_t row = at / panel % rows;
        const std::size_t col = at / (panel * rows) * panel + at % panel;
        wrong += values.data()[at] == (col < cols ? matrix.view(row, col) : 0.0F) ? 0 : 1;
      }
      CAPTURE(target, rows, cols);
      CHECK(wrong == 0);
      CHECK((keys.end_untouched() && values.end_untouched()));
    }
  }
}

TEST_CASE("every target attends as loops do at every number of keys") {
  Checks checks;
  for (std::size_t n_keys = 1; n_keys <= 200; ++n_keys) {
    checks.run({checks.among(1, 40), n_keys, checks.among(1, 40), checks.among(1, 40)});
  }
}

TEST_CASE("every target attends as loops do at every number of rows") {
  Checks checks;
  for (std::size_t rows = 1; rows <= 40; ++rows) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      checks.run({rows, checks.among(1, 70), checks.among(1, 40), checks.among(1, 40)});
    }
  }
}

TEST_CASE("every target attends as loops do at every width of a head") {
  Checks checks;
  for (std::size_t width = 1; width <= 80; ++width) {
    checks.run({checks.among(1, 30), checks.among(1, 70), width, checks.among(1, 80)});
    checks.run({checks.among(1, 30), checks.among(1, 70), checks.among(1, 80), width});
  }
}

TEST_CASE("every target attends as loops do where keys are turned four by four or not") {
  Checks checks;
  const std::array<std::size_t, 12> few = {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33};
  for (const std::size_t n_keys : few) {
    for (const std::size_t d_head : few) checks.run({5, n_keys, d_head, 3});
  }
}

TEST_CASE("every target attends as loops do at the edges of blocks of keys") {
  Checks checks;
  for (const std::size_t n_keys : {511, 512, 513, 1023, 1024, 1025}) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      checks.run({checks.among(1, 40), n_keys, checks.among(1, 20), checks.among(1, 40)});
    }
  }
}

TEST_CASE("windows begin and end around the edges of blocks of keys and rows") {
  Checks checks;
  for (const std::ptrdiff_t n_keys : {64, 544}) {
    const Sizes sizes{13, static_cast<std::size_t>(n_keys), 2, 3};
    for (const std::ptrdiff_t block : {std::ptrdiff_t{0}, std::ptrdiff_t{512}}) {
      for (std::ptrdiff_t near = block - 14; near <= block + 2; ++near) {
        checks.run(sizes, {near, n_keys, sizes.n_keys}, Changes::none);
        checks.run(sizes, {-13, near, sizes.n_keys}, Changes::none);
        checks.run(sizes,
                   {-13, n_keys,
                    static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(near, 0, n_keys))},
                   Changes::none);
      }
    }
  }
}

TEST_CASE("a score that is no number makes a row no number, not an empty or a likely one") {
  const SimdGuard guard;
  // Adds one bad number to row 1.
  class Bad final : public ScoreChange {
   public:
    explicit Bad(float bad) : bad_(bad) {}
    void apply(std::size_t row, std::size_t key, MatrixView<float> scores) const override {
      if (row > 1 || row + scores.rows <= 1) return;
      for (std::size_t j = 0; j < scores.cols; ++j) {
        float& score = scores(1 - row, j);
        score = key + j == 600 ? score + bad_ : -kInfinity;
      }
    }

   private:
    float bad_;
  };
  const std::size_t n_keys = GENERATE(601, 700, 1100);
  const std::vector<float> ones(n_keys * 3, 1.0F);
  for (const std::string& target : simd_targets()) {
    use_simd_target(target);
    const Poisoned keys(packed_keys_size(n_keys, 3));
    const Poisoned values(packed_values_size(n_keys, 3));
    pack_keys({ones.data(), n_keys, 3}, keys.data());
    pack_values({ones.data(), n_keys, 3}, values.data());
    for (const float number : {kInfinity, kNan}) {
      const Bad bad(number);
      const Poisoned scratch(attend_scratch(3, 3, n_keys));
      Padded output(3, 3, 0);
      Padded map(3, n_keys, 0);
      AttendBlock block;
      block.q = {ones.data(), 3, 3};
      block.n_keys = n_keys;
      block.packed_keys = keys.data();
      block.packed_values = values.data();
      block.window = {-5000, 5000, n_keys};
      block.change = &bad;
      block.output = output.view;
      block.map = map.view;
      CAPTURE(target, n_keys, number);
      CHECK(attend_rows(block, scratch.data()) == 0);
      for (std::size_t c = 0; c < 3; ++c) {
        CHECK(std::abs(output.view(0, c) - 1.0F) <= 1e-6F);
        CHECK(std::isnan(output.view(1, c)));
        CHECK(std::abs(output.view(2, c) - 1.0F) <= 1e-6F);
      }
      CHECK(std::isnan(map.view(1, 600)));
    }
  }
}

}  // namespace mha
