// What PyTorch computes (tests/golden/README.md), and the models that ship.
#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "catch.h"
#include "support/recorder.h"

namespace mha {
namespace {

// Largest difference of two tensors of one size.
template <typename T>
double difference(const Tensor<T>& found, const Tensor<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double one = std::abs(static_cast<double>(found.data()[i]) - expected.data()[i]);
    if (!(one <= largest)) largest = one;  // a NaN stays
  }
  return largest;
}

template <typename T>
Watched<T> run(const Archive& weights_file, const Archive& input) {
  const auto weights = read_weights<T>(weights_file);
  const auto x = read<T>(input, "x");
  if (input.find("key") == nullptr) {
    const AttentionInputs<T> inputs = {x, x, x};
    return watch<T>(weights, {}, read_mask<T>(input, check_inputs(weights.sizes, inputs)),
                    inputs);
  }
  const auto key = read<T>(input, "key");
  const auto value = read<T>(input, "value");
  const AttentionInputs<T> inputs = {x, key, value};
  return watch<T>(weights, {}, read_mask<T>(input, check_inputs(weights.sizes, inputs)),
                  inputs);
}

std::set<std::string> golden_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/golden"))) {
    const std::string name = entry.path().filename().string();
    // What PyTorch draws at random has a test of its own.
    if (name.ends_with(".npz") && !name.starts_with("torch_")) names.insert(name);
  }
  return names;
}

bool same_bits(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin());
}

}  // namespace

TEMPLATE_TEST_CASE("PyTorch's outputs and maps are ours", "", float, double) {
  const auto names = golden_files();
  REQUIRE(names.size() == 17);
  for (const std::string& name : names) {
    const Archive golden = open_archive(source_path("tests/golden/" + name));
    const auto result = run<TestType>(golden, golden);
    // PyTorch computed in double, the article's module in f32. Outputs reach
    // 5 and have sums of a few dozen terms behind them.
    const bool f32 = sizeof(TestType) == 4 || name == "article.npz";
    CAPTURE(name);
    CHECK(difference(result.steps.at(Step::maps), read<double>(golden, "maps")) <=
          (f32 ? 1e-6 : 1e-14));
    CHECK(difference(result.y, read<double>(golden, "y")) <= (f32 ? 5e-6 : 1e-13));
    CHECK(result.findings.empty_rows == 0);
  }
}

TEST_CASE("a learned and a zero key stand last, where no mask of ours reaches") {
  const Archive golden = open_archive(source_path("tests/golden/bias_and_zero_key.npz"));
  const auto result = run<double>(golden, golden);
  const auto maps = result.steps.at(Step::maps).matrix(0);
  REQUIRE(maps.cols == 5 + 2);
  for (std::size_t j = 0; j < 5; ++j) CHECK(maps(3, j) == 0.0);
  CHECK(maps(3, 5) > 0.0);
  CHECK(maps(3, 6) > 0.0);
}

TEST_CASE("the article's model is to the bit what PyTorch drew") {
  const Archive golden = open_archive(source_path("tests/golden/article.npz"));
  const Archive model = open_archive(source_path("models/article.json"));
  for (const char* name : {"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"}) {
    CAPTURE(name);
    CHECK(same_bits(stacked<float>(model, name), stacked<float>(golden, name)));
  }
  const Archive x = open_archive(source_path("data/article-x.npy"));
  CHECK(x.at("").shape == Shape{1, 4, 8});
  CHECK(same_bits(read<float>(x, ""), read<float>(golden, "x")));
}

TEST_CASE("the article's model gives what its PyTorch module printed") {
  const auto weights = read_weights<float>(open_archive(source_path("models/article.json")));
  const auto x = read<float>(open_archive(source_path("data/article-x.npy")), "");
  const auto result = watch<float>(weights, {}, {}, {x, x, x});
  // print(mha(x)), four decimals: row 0 and the end of row 3.
  const std::vector<double> row_0 = {-0.2475, -0.2160, 0.0011,  0.6309,
                                     0.0279,  0.2192,  -0.2422, 0.1600};
  for (std::size_t j = 0; j < 8; ++j) {
    CHECK(std::abs(static_cast<double>(result.y.matrix()(0, j)) - row_0[j]) <= 5.1e-5);
  }
  CHECK(std::abs(static_cast<double>(result.y.matrix()(3, 7)) - 0.1993) <= 5.1e-5);
}

TEMPLATE_TEST_CASE("on two heads the first token reads [0.5, 0.3] and [0.1, 0.8]", "", float,
                   double) {
  const Archive input = open_archive(source_path("data/two-heads-x.json"));
  CHECK(input.lists.at("tokens") == std::vector<std::string>{"it", "cat", "was", "tired"});
  const auto result = run<TestType>(open_archive(source_path("models/two-heads.json")), input);
  const auto check_row = [](MatrixView<const TestType> row, std::vector<double> expected) {
    for (std::size_t j = 0; j < expected.size(); ++j) {
      // f32 holds none of 0.3, 0.1, 0.8 exactly; e^-28 of the other keys is
      // left in the maps.
      CHECK(std::abs(static_cast<double>(row(0, j)) - expected[j]) <=
            (sizeof(TestType) == 4 ? 1e-7 : 1e-11));
    }
  };
  check_row(result.steps.at(Step::concat).matrix().row_block(0, 1), {0.5, 0.3, 0.1, 0.8});
  check_row(result.y.matrix().row_block(0, 1), {0.55, 0.7, 0.35, -0.65});
  check_row(result.steps.at(Step::maps).matrix(0).row_block(0, 1), {0, 1, 0, 0});
  check_row(result.steps.at(Step::maps).matrix(1).row_block(0, 1), {0, 0, 0.5, 0.5});
  check_row(result.steps.at(Step::maps).matrix(0).row_block(2, 1), {0.25, 0.25, 0.25, 0.25});
}

}  // namespace mha
