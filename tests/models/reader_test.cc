// The trained example: that it computes what PyTorch computes, and what models/README.md
// and README.md say of its heads.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "input/words.h"
#include "support/golden.h"
#include "support/stack.h"

using namespace mha;

namespace {

template <typename T>
struct Reading {
  Sequences<T> x;
  WatchedStack<T> run;
};

template <typename T>
class Reader {
 public:
  Reading<T> read(const std::string& text) {
    std::vector<std::string> notes;
    Sequences<T> x = read_words<T>({text, "", "", false}, model_, {}, notes);
    WatchedStack<T> run = watch(encoder_, Mask<T>{}, x.values);
    return {std::move(x), std::move(run)};
  }

 private:
  Archive archive_ = open_archive(source_path("models/reader.safetensors"));
  OpenedModel model_ = open_model(archive_, {});
  Encoder<T> encoder_ = read_model<T>(model_, {});
};

template <typename T>
double furthest(const T* got, const Tensor<double>& expected) {
  double furthest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    furthest = std::max(furthest, std::abs(static_cast<double>(got[i]) - expected.data()[i]));
  }
  return furthest;
}

const std::string kStart = "the cat did not cross the road because it was too ";

}  // namespace

TEMPLATE_TEST_CASE("the reader computes what PyTorch computes", "", float, double) {
  // y is normed, its numbers are about 1; f32 may lose a few units in the last place a layer.
  const double most = sizeof(TestType) == sizeof(float) ? 5e-6 : 1e-12;
  const Archive golden = open_archive(source_path("tests/golden/reader/reader.npz"));
  Reader<TestType> reader;
  for (const std::string last : {"tired", "wide"}) {
    Reading<TestType> got = reader.read(kStart + last);
    CHECK(furthest(got.x.values.data(), read<double>(golden, "x_" + last)) <= most);
    CHECK(furthest(got.run.y.data(), read<double>(golden, "y_" + last)) <= most);
    const auto maps = read<double>(golden, "maps_" + last);
    REQUIRE(maps.shape() == Shape{2, 4, 12, 12});
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const Tensor<TestType>& shown = got.run.steps.layer(layer).at(Step::maps);
      REQUIRE(shown.shape() == Shape{1, 4, 12, 12});
      Tensor<double> one({4, 12, 12});
      std::copy_n(maps.data() + layer * one.size(), one.size(), one.data());
      CHECK(furthest(shown.data(), one) <= most);
    }
  }
}

TEST_CASE("heads 2 and 3 of layer 1 lead it to the right noun on all held-out sentences") {
  std::ifstream lines(source_path("data/reader-held-out.tsv"));
  Reader<float> reader;
  std::size_t sentences = 0;
  std::size_t chinese = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string text;
    std::getline(cells, text, '\t');
    std::size_t it = 0;
    std::size_t right = 0;
    std::size_t wrong = 0;
    REQUIRE(cells >> it >> right >> wrong);
    Reading<float> got = reader.read(text);
    INFO(text);
    const std::string& word = got.x.labels.at(it);
    REQUIRE((word == "it" || word == "它"));
    ++sentences;
    if (word != "it") ++chinese;
    for (const std::size_t head : {std::size_t{2}, std::size_t{3}}) {
      const ConstMatrixView<float> map = got.run.steps.layer(1).at(Step::maps).matrix(head);
      CHECK(map(it, right) - map(it, wrong) >= 0.2F);
    }
  }
  CHECK(sentences == 200);
  CHECK(chinese >= 20);
}
