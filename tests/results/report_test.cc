#include "results/report.h"

#include <limits>

#include "catch.h"
#include "results/feed.h"

using namespace mha;

namespace {

// The text of a single matrix.
std::string text_of(const Tensor<float>& matrix,
                    const std::vector<std::string>& row_labels = {},
                    const std::vector<std::string>& col_labels = {},
                    ExcerptLimits limits = {}) {
  Excerpt<float> excerpt(matrix.shape(), 1, limits);
  feed(excerpt, matrix, 1, 2, 1);
  return excerpt.matrix_text(0, row_labels, col_labels);
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

TEST_CASE("a matrix is aligned, minus signs and all") {
  CHECK(text_of(tensor_of<float>({2, 3}, {0.5, -0.25, 10, 1, 0.00004, -3.14159})) ==
        "         0        1        2\n"
        "0   0.5000  -0.2500  10.0000\n"
        "1   1.0000   0.0000  -3.1416\n");
}

TEST_CASE("rows and columns carry labels") {
  const std::vector<std::string> labels = {"the", "internationalization"};
  CHECK(text_of(tensor_of<float>({2, 2}, {0.5, 0.5, 0.25, 0.75}), labels, labels) ==
        "                 the  internation…\n"
        "the           0.5000        0.5000\n"
        "internation…  0.2500        0.7500\n");
}

TEST_CASE("wide characters take two columns in labels") {
  const std::vector<std::string> labels = {"東京", "は"};
  CHECK(text_of(tensor_of<float>({2, 2}, {0.5, 0.5, 0.25, 0.75}), labels, labels) ==
        "        東京      は\n"
        "東京  0.5000  0.5000\n"
        "は    0.2500  0.7500\n");
}

TEST_CASE("a label does nothing to the terminal") {
  const std::string text = text_of(tensor_of<float>({1, 1}, {1}), {"\x1B[2J\n"});
  CHECK(text.find('\x1B') == std::string::npos);
  CHECK(line_count(text) == 2);
}

TEST_CASE("eight rows and sixteen columns are shown whole") {
  const std::string text = text_of(counted<float>({8, 16}));
  CHECK(text.find("…") == std::string::npos);
  CHECK(line_count(text) == 9);
  CHECK(text.find("127.0000") != std::string::npos);
}

TEST_CASE("of nine rows and seventeen columns the middle is left out") {
  CHECK(text_of(counted<float>({9, 17})) ==
        "          0         1         2  …        14        15        16\n"
        "0    0.0000    1.0000    2.0000  …   14.0000   15.0000   16.0000\n"
        "1   17.0000   18.0000   19.0000  …   31.0000   32.0000   33.0000\n"
        "2   34.0000   35.0000   36.0000  …   48.0000   49.0000   50.0000\n"
        "…         …         …         …  …         …         …         …\n"
        "6  102.0000  103.0000  104.0000  …  116.0000  117.0000  118.0000\n"
        "7  119.0000  120.0000  121.0000  …  133.0000  134.0000  135.0000\n"
        "8  136.0000  137.0000  138.0000  …  150.0000  151.0000  152.0000\n");
}

TEST_CASE("without limits everything is shown") {
  const std::string text = text_of(counted<float>({20, 30}), {}, {}, kNoLimits);
  CHECK(text.find("…") == std::string::npos);
  CHECK(line_count(text) == 21);
  CHECK(text.find("599.0000") != std::string::npos);
}

TEST_CASE("numbers that four decimals do not show are written with exponents") {
  CHECK(text_of(tensor_of<float>({1, 2}, {1e-5, -0.00999})) ==
        "             0            1\n"
        "0   1.0000e-05  -9.9900e-03\n");
  CHECK(text_of(tensor_of<float>({1, 2}, {100000, 0})) ==
        "            0           1\n"
        "0  1.0000e+05  0.0000e+00\n");
  CHECK(text_of(tensor_of<float>({1, 2}, {0.01, 0.0000001})) ==
        "        0       1\n"
        "0  0.0100  0.0000\n");
  CHECK(text_of(tensor_of<float>({1, 1}, {0})) ==
        "        0\n"
        "0  0.0000\n");
}

TEST_CASE("what is not finite is said and decides nothing about the rest") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text_of(tensor_of<float>({2, 2}, {inf, -inf, nan, -nan})) ==
        "      0     1\n"
        "0   inf  -inf\n"
        "1   nan   nan\n");
  CHECK(text_of(tensor_of<float>({1, 2}, {-inf, 0.5})) ==
        "        0       1\n"
        "0    -inf  0.5000\n");
}

TEST_CASE("a matrix without rows or columns says so") {
  CHECK(text_of(Tensor<float>({0, 4})) == "(no rows)\n");
  CHECK(text_of(Tensor<float>({4, 0})) == "(no columns)\n");
}

TEMPLATE_TEST_CASE("each matrix of a batch with heads is kept for itself", "", float, double) {
  const std::size_t block_rows = GENERATE(1, 4, 10, 16);
  const Tensor<TestType> maps = counted<TestType>({2, 3, 10, 20});
  Excerpt<TestType> excerpt(maps.shape(), 3, {});
  feed(excerpt, maps, 3, block_rows, 5);
  for (std::size_t i = 0; i < 6; ++i) {
    Excerpt<TestType> alone({10, 20}, 1, {});
    const auto matrix = maps.matrix(i);
    alone.rows({}, matrix);
    CHECK(excerpt.matrix_text(i, {}, {}) == alone.matrix_text(0, {}, {}));
  }
}
