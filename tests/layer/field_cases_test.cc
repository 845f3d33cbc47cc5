// Situations that users of attention ran into, on the RAMP layer, with the
// values that a float64 computation gives (six decimals).
#include <cmath>
#include <limits>

#include "base/error.h"
#include "catch.h"
#include "support/ramp.h"
#include "support/recorder.h"

namespace mha {
namespace {

using Rows = std::vector<double>;

// One unit of the sixth decimal that the values are printed with; f32 adds
// its own rounding, a few units of 6e-8 for numbers around 1.
template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 1e-6;

// `size` relates a tolerance to the size of the numbers.
template <typename T>
void check_values(MatrixView<T> found, const Rows& expected, double size = 1.0) {
  REQUIRE(found.rows * found.cols == expected.size());
  for (std::size_t i = 0; i < found.rows; ++i) {
    for (std::size_t j = 0; j < found.cols; ++j) {
      const double want = expected[i * found.cols + j];
      INFO("element " << i << ", " << j << " is " << found(i, j) << ", expected " << want);
      CHECK(std::abs(static_cast<double>(found(i, j)) - want) <= kTolerance<T> * size);
    }
  }
}

template <typename T>
Mask<T> drop(Shape shape, const Rows& values, const MaskAxes& axes) {
  Mask<T> mask;
  mask.drop.push_back(
      broadcast_mask(ramp::tensor<std::uint8_t>(std::move(shape), values), axes, "mask"));
  return mask;
}

constexpr MaskAxes kRampAxes = {1, 2, 3, 3};

const Rows kRampOutput = {.083198,  .061626,  .038475, .031283,  .016789,  -.013073,
                          -.020338, -.012998, .001151, -.034140, -.045469, -.031960};
const Rows kRampMap0 = {.309484, .344114, .346402, .402798, .302560,
                        .294642, .424895, .292159, .282946};
const Rows kRampMap1 = {.306518, .359378, .334105, .363017, .307236,
                        .329747, .386599, .286567, .326833};
const Rows kKey2Masked = {-.073443, -.185601, -.292809, -.230232, -.134409, -.259781,
                          -.374112, -.291209, -.147848, -.280747, -.406800, -.315725};

template <typename T>
Watched<T> run_ramp(const AttentionSettings& settings = {}, const Mask<T>& mask = {}) {
  const Tensor<T> x = ramp::x<T>();
  return watch<T>(ramp::weights<T>(), settings, mask, {x, x, x});
}

}  // namespace

TEMPLATE_TEST_CASE("RAMP gives its outputs and a map a head", "", float, double) {
  const auto run = run_ramp<TestType>();
  check_values(run.y.matrix(), kRampOutput);
  check_values(run.steps.at(Step::maps).matrix(0), kRampMap0);
  check_values(run.steps.at(Step::maps).matrix(1), kRampMap1);
  CHECK(run.findings.empty_rows == 0);
}

TEMPLATE_TEST_CASE("a query with every key masked reads zeros and gives the output bias", "",
                   float, double) {
  const auto mask = drop<TestType>({3, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0}, kRampAxes);
  const auto run = run_ramp<TestType>({}, mask);
  Rows expected = kRampOutput;
  const Rows bias = {.01, .02, .03, .04};
  for (std::size_t j = 0; j < 4; ++j) expected[4 + j] = bias[j];
  check_values(run.y.matrix(), expected);
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(run.y.matrix()(1, j) == static_cast<TestType>(bias[j]));
  }
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(run.steps.at(Step::maps).matrix(head)(1, j) == TestType{0});
    }
  }
  CHECK(run.findings.empty_rows == 2);  // one query, both heads

  Observer<TestType> nobody;
  AttentionFindings findings;
  const Tensor<TestType> x = ramp::x<TestType>();
  const auto unwatched =
      attention<TestType>(ramp::weights<TestType>(), {}, mask, {x, x, x}, nobody, findings);
  CHECK(std::equal(unwatched.values().begin(), unwatched.values().end(),
                   run.y.values().begin()));
}

TEMPLATE_TEST_CASE("a dropped key and the one key kept give their known outputs", "", float,
                   double) {
  check_values(run_ramp<TestType>({}, drop<TestType>({3}, {0, 0, 1}, kRampAxes)).y.matrix(),
               kKey2Masked);
  const auto only_key_2 = run_ramp<TestType>({}, drop<TestType>({3}, {1, 1, 0}, kRampAxes));
  check_values(only_key_2.y.matrix(), {.37875, .53875, .69875, .5525, .37875, .53875, .69875,
                                       .5525, .37875, .53875, .69875, .5525});
  const auto hidden = -std::numeric_limits<TestType>::infinity();
  CHECK(only_key_2.steps.at(Step::scores).matrix(1)(2, 0) == hidden);
  CHECK(only_key_2.steps.at(Step::maps).matrix(1)(2, 0) == TestType{0});
}

TEMPLATE_TEST_CASE("causal aligns at the start or at the end where queries and keys differ",
                   "", float, double) {
  const auto x = ramp::tensor<TestType>({2, 4}, {ramp::kX.begin(), ramp::kX.begin() + 8});
  Rows longer = ramp::kX;
  longer.insert(longer.end(), {0, .5, 1, -1, -.5, -1, 1, .5});
  const auto key = ramp::tensor<TestType>({5, 4}, longer);
  AttentionSettings settings;
  settings.causal = Causal::start;
  check_values(
      watch<TestType>(ramp::weights<TestType>(), settings, {}, {x, key, key}).y.matrix(),
      {-.4025, -.6175, -.8325, -.635, -.134409, -.259781, -.374112, -.291209});
  settings.causal = Causal::end;
  check_values(
      watch<TestType>(ramp::weights<TestType>(), settings, {}, {x, key, key}).y.matrix(),
      {.079131, .137659, .181310, .158988, -.126005, -.024578, .098382, .127644});
}

TEMPLATE_TEST_CASE("a mask of batch * n_heads slices is laid out item by item", "", float,
                   double) {
  Rows both = ramp::kX;  // X, then X with its rows reversed
  for (std::size_t row = 3; row-- > 0;) {
    both.insert(both.end(), ramp::kX.begin() + static_cast<std::ptrdiff_t>(row) * 4,
                ramp::kX.begin() + static_cast<std::ptrdiff_t>(row) * 4 + 4);
  }
  const auto x = ramp::tensor<TestType>({2, 3, 4}, both);
  const MaskAxes axes = {2, 2, 3, 3};
  Rows slices(4 * 9, 0.0);
  for (std::size_t query = 0; query < 3; ++query) slices[9 + query * 3] = 1;  // slice 1
  const Shape shape = GENERATE(Shape{4, 3, 3}, Shape{2, 2, 3, 3});
  const auto weights = ramp::weights<TestType>();
  const auto plain = watch<TestType>(weights, {}, {}, {x, x, x});
  const auto masked =
      watch<TestType>(weights, {}, drop<TestType>(shape, slices, axes), {x, x, x});

  check_values(masked.y.matrix(0).row_block(0, 1), {.083198, .180486, .423445, .325778});
  for (std::size_t slice = 0; slice < 4; ++slice) {
    const auto before = plain.steps.at(Step::maps).matrix(slice);
    const auto after = masked.steps.at(Step::maps).matrix(slice);
    const bool same = std::equal(before.data, before.data + 9, after.data);
    CHECK(same == (slice != 1));
  }
  check_values(plain.y.matrix(0), kRampOutput);
}

TEMPLATE_TEST_CASE("large scores stay finite", "", float, double) {
  Rows large = ramp::kX;
  for (double& value : large) value *= 100;
  const auto x = ramp::tensor<TestType>({3, 4}, large);
  const auto run = watch<TestType>(ramp::weights<TestType>(), {}, {}, {x, x, x});
  check_values(run.y.matrix(),
               {46.785, 31.32, -6.02, -12.26, -31.34, -68.68, -106.02, -87.26, -31.34, -68.68,
                -106.02, -87.26},
               100.0);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < 3; ++i) {
      const TestType* row = run.steps.at(Step::maps).matrix(head).row(i);
      CHECK(std::abs(static_cast<double>(row[0] + row[1] + row[2]) - 1.0) <= 1e-6);
    }
  }
}

TEMPLATE_TEST_CASE("a scale of one replaces one over the root of d_head", "", float, double) {
  AttentionSettings settings;
  settings.scale = 1.0;
  check_values(run_ramp<TestType>(settings).y.matrix().row_block(0, 1),
               {.090025, .070788, .049256, .039365});
}

TEMPLATE_TEST_CASE("heads may be wider than d_model over n_heads", "", float, double) {
  AttentionWeights<TestType> weights;
  weights.sizes = {4, 4, 4, 2, 2, 3, 3};
  weights.W_Q = ramp::W_Q<TestType>(6);
  weights.W_K = ramp::W_K<TestType>(6);
  weights.W_V = ramp::W_V<TestType>(6);
  weights.W_O = ramp::linear<TestType>(
      4, 6, [](double i, double j) { return std::fmod(j, 4) == i ? 1.0 : 0.0; });
  const auto x = ramp::x<TestType>();
  check_values(watch<TestType>(weights, {}, {}, {x, x, x}).y.matrix(),
               {-.211489, -.458477, -.064728, -.246864, -.232939, -.493185, -.143437, -.232739,
                -.229000, -.490815, -.165785, -.220764});
}

TEMPLATE_TEST_CASE("grouped query heads read their key heads by blocks", "", float, double) {
  AttentionWeights<TestType> weights;
  weights.sizes = {4, 4, 4, 4, 2, 2, 2};
  weights.W_Q = ramp::linear<TestType>(8, 4, [](double i, double j) { return (i - j) / 8; });
  weights.W_K = ramp::W_K<TestType>();
  weights.W_V = ramp::W_V<TestType>();
  weights.W_O = ramp::linear<TestType>(
      4, 8, [](double i, double j) { return std::fmod(j, 4) == i ? 1.0 : 0.0; });
  const auto x = ramp::x<TestType>();
  check_values(watch<TestType>(weights, {}, {}, {x, x, x}).y.matrix(),
               {.072345, -.169217, .091321, -.143374, .031819, -.223091, .042128, -.209050,
                .015627, -.243780, .015627, -.243780});
}

TEMPLATE_TEST_CASE("maps have queries as rows, and queries may differ from keys", "", float,
                   double) {
  const auto run = run_ramp<TestType>();
  const auto map0 = run.steps.at(Step::maps).matrix(0);
  const auto map1 = run.steps.at(Step::maps).matrix(1);
  Tensor<TestType> mean({3, 3});
  for (std::size_t i = 0; i < 9; ++i) mean.data()[i] = (map0.data[i] + map1.data[i]) / 2;
  check_values(mean.matrix(), {.308001, .351746, .340253, .382907, .304898, .312195, .405747,
                               .289363, .304890});

  const auto x = ramp::tensor<TestType>({2, 4}, {ramp::kX.begin(), ramp::kX.begin() + 8});
  const auto key = ramp::x<TestType>();
  const auto cross = watch<TestType>(ramp::weights<TestType>(), {}, {}, {x, key, key});
  CHECK(cross.steps.at(Step::maps).shape() == Shape{1, 2, 2, 3});
  check_values(cross.steps.at(Step::maps).matrix(0),
               {kRampMap0.begin(), kRampMap0.begin() + 6});
}

TEMPLATE_TEST_CASE("every step shows the numbers that people compare", "", float, double) {
  const auto run = run_ramp<TestType>();
  const auto heads = [&](Step step) {  // row 0 of both heads, side by side
    const auto& tensor = run.steps.at(step);
    return std::vector<double>{tensor.matrix(0)(0, 0), tensor.matrix(0)(0, 1),
                               tensor.matrix(1)(0, 0), tensor.matrix(1)(0, 1)};
  };
  const auto check_heads = [&](Step step, const Rows& expected) {
    const Rows found = heads(step);
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(std::abs(found[j] - expected[j]) <= kTolerance<TestType>);
    }
  };
  check_heads(Step::q, {-.15, -.3, -.45, -.6});
  check_heads(Step::k, {.125, .1, -.125, -.15});
  check_heads(Step::v, {-.225, -.375, -.525, -.675});
  check_values(run.steps.at(Step::scores).matrix(0).row_block(0, 1),
               {-.034471, .071595, .078224});
  const Rows concat = {.055594,  .035209,  .012834, -.008717, .017366,  -.021154,
                       -.023839, -.052998, .008348, -.034395, -.039489, -.071960};
  check_values(run.steps.at(Step::concat).matrix(), concat);
  check_heads(Step::head_outputs, {concat.begin(), concat.begin() + 4});
}

TEMPLATE_TEST_CASE("heads that are switched off contribute nothing", "", float, double) {
  const auto x = ramp::x<TestType>();
  const auto run_without = [&](const std::vector<std::size_t>& heads) {
    auto weights = ramp::weights<TestType>();
    ablate(weights, heads);
    return watch<TestType>(weights, {}, {}, {x, x, x});
  };
  const auto only_0 = run_without({1});
  check_values(only_0.y.matrix(), {.083198, .055209, .03, .04, .016789, -.001154, .03, .04,
                                   .001151, -.014395, .03, .04});
  check_values(only_0.steps.at(Step::maps).matrix(1), kRampMap1);
  const auto only_1 = run_without({0});
  check_values(only_1.y.matrix().row_block(0, 1), {.01, .026417, .038475, .031283});
  check_values(run_without({0, 1}).y.matrix(),
               {.01, .02, .03, .04, .01, .02, .03, .04, .01, .02, .03, .04});

  const auto all = run_without({});
  const Rows bias = {.01, .02, .03, .04};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double sum = static_cast<double>(only_0.y.matrix()(i, j)) +
                         static_cast<double>(only_1.y.matrix()(i, j)) - bias[j];
      CHECK(std::abs(sum - static_cast<double>(all.y.matrix()(i, j))) <= kTolerance<TestType>);
    }
  }
  CHECK_THROWS_AS(run_without({2}), Error);
}

}  // namespace mha
