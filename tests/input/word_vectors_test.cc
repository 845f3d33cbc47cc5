#include "input/word_vectors.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

using Words = std::vector<std::string>;

class VectorsFile {
 public:
  explicit VectorsFile(const std::string& text) { folder_.write("v.txt", text); }
  WordVectors<float> read(const Words& words, std::size_t width = 2, bool any = false) const {
    return read_word_vectors<float>(folder_ / "v.txt", words, {width, "d_model of w.bin"},
                                    any);
  }
  // … with the folder cut off.
  std::string error(const Words& words, std::size_t width = 2) const {
    const std::string text = error_of([&] { read(words, width); });
    return text.substr(std::min(text.size(), text.find("v.txt")));
  }

 private:
  TempFolder folder_;
};

const std::string kTwo = "the 1 2\ncat 3 -4.5e-1\n";

}  // namespace

TEST_CASE("the vectors of wanted words are read, and no others") {
  const auto vectors = VectorsFile(kTwo + "dog x y\n").read({"cat", "cat", "zebra"});
  REQUIRE(vectors.size() == 1);
  CHECK(vectors.at("cat") == std::vector<float>{3, -0.45F});
}

TEST_CASE("a line of counts, tabs, blanks at the end and Windows' line ends do no harm") {
  for (const std::string text :
       {"2 2\nthe 1 2\ncat 3 4\n", "the\t1\t2\ncat\t3\t4", "the 1 2 \r\n\r\ncat  3 4 \r\n",
        "2 2 \n\nthe +1 2\ncat 3 4\ncat 5 6\n", "\xEF\xBB\xBFthe 1 2\ncat 3 4\n",
        "\xEF\xBB\xBF"
        "2 2\nthe 1 2\ncat 3 4\n"}) {
    INFO(text);
    const auto vectors = VectorsFile(text).read({"the", "cat"});
    CHECK(vectors.at("the") == std::vector<float>{1, 2});
    CHECK(vectors.at("cat") == std::vector<float>{3, 4});
  }
  SECTION("a word may be a number") {
    CHECK(VectorsFile("7 1 2\n").read({"7"}).at("7") == std::vector<float>{1, 2});
  }
}

TEST_CASE("words are looked up to the letter") {
  const VectorsFile file("The 1 2\nthé 3 4\n");
  CHECK(file.read({"the"}).empty());
  CHECK(file.read({"thé"}).size() == 1);
}

TEST_CASE("words with blanks in them, as GloVe's of 840 billion has, are passed over") {
  const VectorsFile file(". . . 1 2\nat name@domain.com 3 4\nat 5 6\n. 7 8\n");
  const auto vectors = file.read({"at", ".", "name@domain.com"});
  CHECK(vectors.size() == 2);
  CHECK(vectors.at("at") == std::vector<float>{5, 6});
  CHECK(vectors.at(".") == std::vector<float>{7, 8});
}

TEST_CASE("each line has as many numbers as the model is wide") {
  CHECK(VectorsFile(kTwo).error({"cat"}, 3) ==
        "v.txt: line 1: the has 2 numbers, expected 3 (d_model of w.bin)");
  CHECK(VectorsFile("9 300\n" + kTwo).error({"cat"}) ==
        "v.txt: line 1: the words have 300 numbers, expected 2 (d_model of w.bin)");
  CHECK(VectorsFile(kTwo + "\nof 1\n").error({"cat"}) ==
        "v.txt: line 4: of has 1 numbers, expected 2 (d_model of w.bin)");
  CHECK(VectorsFile(kTwo + "of 1 2 3\n").error({"cat"}) ==
        "v.txt: line 3: of has 3 numbers, expected 2 (d_model of w.bin)");
  CHECK(VectorsFile(kTwo + "word\n").error({"cat"}) ==
        "v.txt: line 3: word has 0 numbers, expected 2 (d_model of w.bin)");
}

TEST_CASE("a word with blanks in it, as GloVe's largest file has some, is passed over") {
  const auto vectors = VectorsFile(". . . 1 2\nat a@b.org 3 4\n" + kTwo).read({".", "cat"});
  CHECK(vectors.size() == 1);
  CHECK(vectors.contains("cat"));
}

TEST_CASE("numbers of wanted words are checked") {
  CHECK(VectorsFile("a 1 2,5\n").error({"a"}) == "v.txt: line 1: 2,5 of a is no number");
  CHECK(VectorsFile("a 1 1e999\n").error({"a"}) == "v.txt: line 1: 1e999 of a is no number");
  const VectorsFile odd("a 1 nan\nb 1e300 1\n");
  CHECK(odd.error({"a"}) ==
        "v.txt: line 1: nan of a is not finite; --allow-nonfinite lets it through");
  CHECK(odd.error({"b"}) ==
        "v.txt: line 2: 1e300 of b is not finite; --allow-nonfinite lets it through");
  CHECK(odd.read({"b"}, 2, true).at("b")[0] == std::numeric_limits<float>::infinity());
}

TEST_CASE("a file without words, or with none that is ours, is refused") {
  CHECK(VectorsFile("").error({"a"}) == "v.txt: holds no vectors of words");
  CHECK(VectorsFile(" \n\n").error({"a"}) == "v.txt: holds no vectors of words");
  CHECK(VectorsFile(std::string(5U << 20, 'x')).error({"a"}) ==
        "v.txt: line 1 has more than 4194304 bytes, expected a word and its numbers");
  const auto missing = [] {
    read_word_vectors<float>("/no/such/file", {"a"}, {2, "d_model"}, false);
  };
  CHECK(error_of(missing) == "/no/such/file: cannot open: No such file or directory");
  CHECK(fails_with(Fault::system, missing));
  const TempFolder folder;
  const auto directory = [&] {
    read_word_vectors<float>(folder.path().string(), {"a"}, {2, "d_model"}, false);
  };
  CHECK(fails_with(Fault::system, directory));
}

TEST_CASE("lines of any length come through the blocks that are read") {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "w" + std::to_string(i) + " " + std::to_string(i) + " 0.5\n";
  const auto vectors = VectorsFile(text).read({"w0", "w54321", "w99999"});
  REQUIRE(vectors.size() == 3);
  CHECK(vectors.at("w54321") == std::vector<float>{54321, 0.5F});
  CHECK(vectors.at("w99999") == std::vector<float>{99999, 0.5F});
}
