#include "input/words.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "support/error_of.h"
#include "support/golden.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

using Labels = std::vector<std::string>;

// A model and what reading text by it gives.
class Reader {
 public:
  explicit Reader(const std::string& path) : model_(open_model(open_archive(path), {})) {}

  template <typename T = double>
  Sequences<T> read(const TextInput& input) {
    notes.clear();
    return read_words<T>(input, model_, {}, notes);
  }
  template <typename T = double>
  Sequences<T> read(const std::string& text) {
    return read<T>(TextInput{text, "", "", false});
  }
  std::string error(const TextInput& input) {
    return error_of([&] { read(input); });
  }
  std::string error(const std::string& text) { return error(TextInput{text, "", "", false}); }

  std::vector<std::string> notes;

 private:
  OpenedModel model_;
};

// d_model 2, one head; words a, b, c and what else is said.
std::string native(const std::string& more) {
  return R"({"n_heads": 1, "W_Q": [[1, 0], [0, 1]], "W_K": [[1, 0], [0, 1]],
    "W_V": [[1, 0], [0, 1]], "W_O": [[1, 0], [0, 1]],
    "embeddings.words": [[1, 2], [3, 4], [5, 6], [7, 8]])" +
         more + "}";
}
const std::string kAbc = R"(, "vocabulary": ["a", "b", "c"])";

class Native {
 public:
  explicit Native(const std::string& more) : reader_(folder.write("w.json", native(more))) {}
  Reader* operator->() { return &reader_; }
  // A message with the folder cut off.
  std::string bare(std::string text) const {
    const std::string path = folder.path().string() + "/";
    for (std::size_t at = text.find(path); at != text.npos; at = text.find(path)) {
      text.erase(at, path.size());
    }
    return text;
  }
  TempFolder folder;

 private:
  Reader reader_;
};

std::vector<double> values(const Tensor<double>& tensor) {
  return {tensor.values().begin(), tensor.values().end()};
}

}  // namespace

TEMPLATE_TEST_CASE("text becomes what BERT's embedding module makes of it", "", float,
                   double) {
  const Archive golden = open_archive(source_path("tests/golden/words/words.npz"));
  Reader reader(source_path("models/tiny-bert/pytorch_model.bin"));
  const std::string name = GENERATE("plain", "folded", "pair", "full");
  INFO(name);
  const auto x = reader.read<TestType>(golden.settings.at(name + ".text"));
  CHECK(x.labels == golden.lists.at(name + ".tokens"));
  const auto expected = read_tensor<double>(golden, golden.at(name + ".x"));
  REQUIRE(x.values.shape() == expected.shape());
  double furthest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    furthest = std::max(furthest, std::abs(x.values.data()[i] - expected.data()[i]));
  }
  CHECK(furthest < (sizeof(TestType) == 4 ? 1e-6 : 1e-14));
}

TEST_CASE("a text has words, and no more tokens than there are positions") {
  Reader reader(source_path("models/tiny-bert/pytorch_model.bin"));
  CHECK(reader.error("") == "--text: there are no words in it");
  CHECK(reader.error(" \n\x01") == "--text: there are no words in it");
  std::string text;
  for (int i = 0; i < 15; ++i) text += "cat ";
  CHECK(reader.error(text) == "--text: 17 tokens, but " +
                                  source_path("models/tiny-bert/pytorch_model.bin") +
                                  " has positions for 16");
}

TEST_CASE("what an unknown word became is noted") {
  Reader reader(source_path("models/tiny-bert/pytorch_model.bin"));
  CHECK(reader.read("the zebra\x01 slept").labels ==
        Labels{"[CLS]", "the", "[UNK]", "slept", "[SEP]"});
  CHECK(reader.notes.back() == "word 2, zebra, is unknown: [UNK]");
  CHECK(reader.read("the cat").labels.size() == 4);
  for (const std::string& note : reader.notes) CHECK(note.find("unknown") == note.npos);
}

TEST_CASE("a native file needs words and a vocabulary alone") {
  Native model(kAbc);
  const auto x = model->read("B a");
  CHECK(values(x.values) == std::vector<double>{3, 4, 1, 2});
  CHECK(x.labels == Labels{"b", "a"});
  CHECK(x.where == "--text");
  CHECK(model.bare(x.form) == "WordPiece by w.json");
}

TEST_CASE("positions, types and a norm are added where they are there") {
  SECTION("positions") {
    Native model(kAbc + R"(, "embeddings.positions": [[10, 0], [20, 0]])");
    CHECK(values(model->read("a a").values) == std::vector<double>{11, 2, 21, 2});
    CHECK(model.bare(model->error("a b c")) ==
          "--text: 3 tokens, but w.json has positions for 2");
  }
  SECTION("no positions at all have room for nothing") {
    Native model(kAbc + R"(, "embeddings.token_types": [[10, 0]])");
    CHECK(values(model->read("a a").values) == std::vector<double>{11, 2, 11, 2});
  }
  SECTION("types, from the token that ends a text on") {
    Native model(
        R"(, "vocabulary": ["a", "b", "[SEP]"], "embeddings.token_types": [[0, 10], [0, 20]])");
    CHECK(values(model->read("a [SEP] a").values) == std::vector<double>{1, 12, 5, 16, 1, 22});
  }
  SECTION("a token of another name") {
    Native model(R"(, "vocabulary": ["a", "b", "<s>"], "text_end": "<s>",
      "embeddings.token_types": [[0, 10], [0, 20]])");
    CHECK(values(model->read("a <s> a").values) ==
          std::vector<double>{1, 12, 5, 16, 1, 22, 5, 26});
  }
  SECTION("a norm with the layers' eps and kind") {
    const std::string norm = R"(, "embeddings.norm.weight": [1, 2], "eps": 0.75)";
    Native model(kAbc + norm + R"(, "embeddings.norm.bias": [0, 1])");
    CHECK(values(model->read("a").values) == std::vector<double>{-0.5, 2});
    Native rms(kAbc + norm + R"(, "norm_type": "rms")");
    CHECK(std::abs(values(rms->read("b").values)[1] - 8 / std::sqrt(12.5 + 0.75)) < 1e-12);
  }
}

TEST_CASE("a text begins and ends as the settings say") {
  Native model(R"(, "vocabulary": ["a", "b", "<s>"], "text_begin": "<s>", "text_end": "b")");
  CHECK(model->read("a").labels == Labels{"<s>", "a", "b"});
  Native without(kAbc + R"(, "text_begin": "<s>")");
  CHECK(without.bare(without->error("a")) ==
        "w.json: the vocabulary has no <s>, which is text_begin");
}

TEST_CASE("case matters where the file says so") {
  Native model(R"(, "vocabulary": ["a", "A"], "lower_case": false)");
  CHECK(values(model->read("A a").values) == std::vector<double>{3, 4, 1, 2});
  CHECK(model->notes.front().starts_with("lower_case = false ("));
}

TEST_CASE("a word that a vocabulary without [UNK] has not is an error, or zeros") {
  Native model(kAbc + R"(, "embeddings.positions": [[10, 0], [20, 0]])");
  CHECK(model.bare(model->error("a zebra!")) ==
        "--text: word 2, zebra, is not in w.json; --unknown takes zeros for such words");
  const auto x = model->read(TextInput{"a zebra", "", "", true});
  CHECK(values(x.values) == std::vector<double>{11, 2, 20, 0});
  CHECK(x.labels == Labels{"a", "zebra"});
  CHECK(model->notes.back() == "word 2, zebra, is unknown: zeros");
}

TEST_CASE("a vocabulary may come from a file") {
  Native model("");
  CHECK(
      model.bare(model->error("a")) ==
      "w.json: there is no vocabulary, in it or in a vocab.txt beside it; give --vocab FILE");
  const std::string file = model.folder.write("v.txt", "x\r\na\r\n[UNK]\r\n");
  const TextInput input{"a b", file, "", false};
  CHECK(values(model->read(input).values) == std::vector<double>{3, 4, 5, 6});
  CHECK(model.bare(model->read(input).form) == "WordPiece by v.txt");
}

TEST_CASE("vectors of words come from a file, to the letter") {
  Native model(kAbc);
  const std::string file = model.folder.write("v.txt", "2 2\nThe 1 2\ncat, 3 4\n");
  const TextInput input{" The\n cat, ", "", file, false};
  const auto x = model->read(input);
  CHECK(values(x.values) == std::vector<double>{1, 2, 3, 4});
  CHECK(x.labels == Labels{"The", "cat,"});
  CHECK(model.bare(x.form) == "words of v.txt");
  CHECK(model->error(TextInput{" ", "", file, false}) == "--text: there are no words in it");
  CHECK(model.bare(model->error(TextInput{"The the", "", file, false})) ==
        "--text: word 2, the, is not in v.txt; --unknown takes zeros for such words");
  SECTION("zeros where the file has no <unk>") {
    const auto zeros = model->read(TextInput{"The the", "", file, true});
    CHECK(values(zeros.values) == std::vector<double>{1, 2, 0, 0});
    CHECK(model->notes == std::vector<std::string>{"word 2, the, is unknown: zeros"});
  }
  SECTION("<unk> where it has") {
    const std::string more = model.folder.write("u.txt", "The 1 2\n<unk> 8 9\n");
    const auto unk = model->read(TextInput{"the The", "", more, true});
    CHECK(values(unk.values) == std::vector<double>{8, 9, 1, 2});
    CHECK(unk.labels == Labels{"the", "The"});
    CHECK(model->notes == std::vector<std::string>{"word 1, the, is unknown: <unk>"});
  }
  SECTION("of the model's width") {
    const std::string wide = model.folder.write("w.txt", "The 1 2 3\n");
    CHECK(model.bare(model->error(TextInput{"The", "", wide, false})) ==
          "w.txt: line 1: The has 3 numbers, expected 2 (d_model of w.json)");
  }
}

TEST_CASE("numbers of the rows that are needed are finite") {
  const TempFolder folder;
  const std::string path = source_path("models/tiny-bert/pytorch_model.bin");
  OpenedModel model = open_model(open_archive(path), {});
  for (Member& member : model.translated.archive.members) {
    if (member.name != "embeddings.words") continue;
    std::vector<float> rows(6 * 16, 1.0F);
    rows[4 * 16 + 3] = NAN;  // of "cat"
    const std::string bytes(reinterpret_cast<const char*>(rows.data()),
                            rows.size() * sizeof(float));
    member.offset = 0;
    member.fetch = [data = Bytes::own(bytes)] { return data; };
  }
  std::vector<std::string> notes;
  const auto read = [&](const std::string& text, bool any) {
    ModelOptions options;
    options.allow_nonfinite = any;
    read_words<float>({text, "", "", false}, model, options, notes);
  };
  CHECK(error_of([&] { read("the slept", false); }) == "no error");
  CHECK(error_of([&] { read("the cat", false); }) ==
        path +
            ": embeddings.word_embeddings.weight[4, 3] is nan; --allow-nonfinite lets it "
            "through");
  CHECK(error_of([&] { read("the cat", true); }) == "no error");
}
