#include "checkpoint/embeddings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "checkpoint/native_json.h"
#include "checkpoint/save.h"
#include "checkpoint/scheme_file.h"
#include "files/archive_writer.h"
#include "files/whole_file.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

Names bert_words(const std::string& prefix = "") {
  return {{prefix + "embeddings.word_embeddings.weight", {9, 4}},
          {prefix + "embeddings.position_embeddings.weight", {8, 4}},
          {prefix + "embeddings.token_type_embeddings.weight", {2, 4}},
          {prefix + "embeddings.LayerNorm.weight", {4}},
          {prefix + "embeddings.LayerNorm.bias", {4}}};
}
Names bert(const std::string& prefix = "") {
  return bert_words(prefix) + stacked(prefix + "encoder.layer.", 2, bert_layer());
}
Names distilbert() {
  Names layer;
  for (const std::string name :
       {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"}) {
    layer = layer + Names{{name + ".weight", {4, 4}}, {name + ".bias", {4}}};
  }
  layer = layer + Names{{"sa_layer_norm.weight", {4}},     {"sa_layer_norm.bias", {4}},
                        {"ffn.lin1.weight", {6, 4}},       {"ffn.lin1.bias", {6}},
                        {"ffn.lin2.weight", {4, 6}},       {"ffn.lin2.bias", {4}},
                        {"output_layer_norm.weight", {4}}, {"output_layer_norm.bias", {4}}};
  const std::string types = "distilbert.embeddings.token_type_embeddings.weight";
  return without(bert_words("distilbert."), types) +
         stacked("distilbert.transformer.layer.", 1, layer);
}

const std::vector<std::string> kAll = {"embeddings.norm.bias", "embeddings.norm.weight",
                                       "embeddings.positions", "embeddings.token_types",
                                       "embeddings.words"};

// A model in a folder that nothing else lies in yet.
class Model {
 public:
  explicit Model(const Names& names, const std::string& config = R"({"model_type": "bert",
      "num_attention_heads": 2})") {
    folder.write("config.json", config);
    file_ = file_of(names, folder / "w.bin");
  }
  explicit Model(Archive archive) : file_(std::move(archive)) {}

  OpenedModel open() const { return open_model(file_, options); }
  Embeddings embeddings(const std::string& vocabulary = "") const {
    OpenedModel model = open();
    return open_embeddings(model, options, vocabulary);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : embeddings().tensors) found.push_back(name);
    return found;
  }
  // Messages with the folder cut off.
  std::string bare(std::string text) const {
    const std::string path = folder.path().string() + "/";
    for (std::size_t at = text.find(path); at != text.npos; at = text.find(path)) {
      text.erase(at, path.size());
    }
    return text;
  }
  std::string error(const std::string& vocabulary = "") const {
    return bare(error_of([&] { embeddings(vocabulary); }));
  }
  std::string without_embeddings() const { return bare(mha::without_embeddings(open())); }
  // name = value (source)
  std::string setting(const std::string& name) const {
    for (const SettingInForce& one : embeddings().in_force) {
      if (one.name == name) return bare(one.value + " (" + one.source + ")");
    }
    return "none";
  }

  TempFolder folder;
  ModelOptions options;

 private:
  Archive file_;
};

Archive native_file(const native::Fields& fields) {
  return native::archive_of(native::with(native::stacked(), fields));
}
native::Fields native_words() {
  return {{"embeddings.words", native::counted({3, 4})}, {"vocabulary", R"(["a", "b"])"}};
}

}  // namespace

TEST_CASE("a family's embeddings are found beside its layers") {
  CHECK(Model(bert()).names() == kAll);
  CHECK(Model(bert("bert.")).names() == kAll);
  CHECK(Model(bert("module.bert.")).names() == kAll);
  CHECK(Model(bert("electra."), R"({"model_type": "electra", "num_attention_heads": 2})")
            .names() == kAll);
  const Model distil(distilbert(),
                     R"({"model_type": "distilbert", "num_attention_heads": 2})");
  CHECK(distil.names() == std::vector<std::string>{kAll[0], kAll[1], kAll[2], kAll[4]});
  CHECK(Model(bert()).embeddings().tensors.at("embeddings.words").shape == Shape{9, 4});
}

TEST_CASE("embeddings are left aside until somebody asks for them") {
  const Model file(bert());
  OpenedModel model = file.open();
  const auto aside = [&] { return model.translated.unused.size(); };
  CHECK(aside() == 5);
  open_embeddings(model, file.options, "");
  CHECK(aside() == 0);
  OpenedModel of_native = open_model(native_file(native_words()), {});
  CHECK(of_native.translated.unused == std::vector<std::string>{"embeddings.words"});
}

TEST_CASE("embeddings of another width are no matter of the layers") {
  Names names = bert();
  names[0].second = {9, 2};
  const Model small(names);
  CHECK(small.open().layers.size() == 2);
  CHECK(small.error() ==
        "w.bin: embeddings.word_embeddings.weight (as embeddings.words) is [9, 2], expected "
        "[9, 4] (d_model 4)");
  Names odd = bert();
  odd[1].second = {8};
  CHECK(Model(odd).error().find("embeddings.position_embeddings.weight") != std::string::npos);
}

TEST_CASE("who splits text otherwise, or lacks a part, says so") {
  CHECK(Model(bert("roberta."), R"({"model_type": "roberta", "num_attention_heads": 2})")
            .without_embeddings() ==
        "w.bin: RoBERTa, XLM-R (Hugging Face) splits text into byte pairs (BPE) or by "
        "SentencePiece, which is not done");
  CHECK(Model(stacked("h.", 1, gpt2_layer()),
              R"({"model_type": "gpt2", "num_attention_heads": 2})")
            .without_embeddings()
            .starts_with("w.bin: GPT-2 (Hugging Face) splits text into byte pairs"));
  CHECK(Model(stacked("model.layers.", 1, llama_layer()),
              R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1})")
            .without_embeddings()
            .starts_with("w.bin: LLaMA (Hugging Face) splits text into byte pairs"));
  CHECK(Model(without(bert(), "embeddings.position_embeddings.weight")).without_embeddings() ==
        "w.bin: embeddings.position_embeddings.weight is missing (scheme bert)");
  CHECK(Model(stacked("encoder.layer.", 1, bert_layer())).without_embeddings() ==
        "w.bin: holds no embeddings of words that scheme bert knows");
  CHECK(Model(native_file({})).without_embeddings() ==
        "w.json: holds no embeddings of words, embeddings.words");
}

TEST_CASE("a family's vocabulary lies beside it") {
  const Model file(bert());
  CHECK(file.embeddings().vocabulary.empty());
  file.folder.write("vocab.txt", "[UNK]\r\n\nthé\n中");
  CHECK(file.embeddings().vocabulary == std::vector<std::string>{"[UNK]", "", "thé", "中"});
  CHECK(file.bare(file.embeddings().vocabulary_source) == "vocab.txt");
  const std::string other = file.folder.write("other.txt", "a\n");
  CHECK(file.embeddings(other).vocabulary == std::vector<std::string>{"a"});
}

TEST_CASE("a vocabulary fits the rows and is text") {
  const Model file(bert());
  const auto error = [&](const std::string& text) {
    return file.error(file.folder.write("v.txt", text));
  };
  CHECK(error("1\n2\n3\n4\n5\n6\n7\n8\n9\n") == "no error");
  CHECK(error("1\n2\n3\n4\n5\n6\n7\n8\n9\n\n") ==
        "v.txt: the vocabulary has 10 words, but embeddings.words of w.bin has 9 rows");
  CHECK(error("") == "v.txt: the vocabulary is empty");
  CHECK(error("a\n\xFF"
              "b\n") == "v.txt: word 2, \\xFFb, is no text in UTF-8");
  CHECK(error(std::string("a\0", 2)) == "v.txt: word 1, a\\x00, is no text in UTF-8");
  CHECK(file.error(file.folder / "none.txt").starts_with("none.txt: cannot open"));
  CHECK(error_of([] {
          Archive archive = native_file(native_words());
          archive.container = "safetensors";
          archive.lists.clear();
          archive.settings["vocabulary"] = "[1]";
          OpenedModel model = open_model(archive, {});
          open_embeddings(model, {}, "");
        }) == "w.json: vocabulary is no list of strings");
  CHECK(error_of([] {
          OpenedModel model =
              open_model(native_file(native::with(native_words(),
                                                  {{"vocabulary", R"(["a","b","c","d"])"}})),
                         {});
          open_embeddings(model, {}, "");
        }) == "w.json: the vocabulary has 4 words, but embeddings.words of w.json has 3 rows");
}

TEST_CASE("how text is split is said by the tokenizer's config, or the model's") {
  SECTION("nobody says") {
    const Model file(bert());
    CHECK(file.setting("lower_case") == "true (default)");
    CHECK(file.setting("strip_accents") == "true (default)");
    CHECK(file.setting("split_chinese") == "true (default)");
    CHECK(file.setting("text_begin") == "[CLS] (default)");
    CHECK(file.setting("text_end") == "[SEP] (default)");
  }
  SECTION("the tokenizer's config wins over the model's") {
    const Model file(bert(), R"({"model_type": "bert", "num_attention_heads": 2,
        "do_lower_case": true, "tokenize_chinese_chars": false})");
    file.folder.write("tokenizer_config.json", R"({"do_lower_case": false,
        "strip_accents": null, "tokenizer_class": "BertTokenizerFast"})");
    CHECK(file.setting("lower_case") == "false (tokenizer_config.json: do_lower_case)");
    CHECK(file.setting("strip_accents") == "false (default)");
    CHECK(file.setting("split_chinese") == "false (config.json: tokenize_chinese_chars)");
  }
  SECTION("accents by themselves") {
    const Model file(bert());
    file.folder.write("tokenizer_config.json",
                      R"({"do_lower_case": false, "strip_accents": true})");
    CHECK(file.setting("strip_accents") == "true (tokenizer_config.json: strip_accents)");
  }
  SECTION("values that are none, and other tokenizers") {
    const Model file(bert());
    const auto error = [&](const std::string& text) {
      file.folder.write("tokenizer_config.json", text);
      return file.error();
    };
    CHECK(error(R"({"do_lower_case": "maybe"})") ==
          "tokenizer_config.json: do_lower_case: lower_case is \"maybe\", expected true or "
          "false");
    CHECK(error(R"({"tokenizer_class": "BertJapaneseTokenizer"})") ==
          "tokenizer_config.json: tokenizer_class is \"BertJapaneseTokenizer\", expected "
          "BertTokenizer: text is split by WordPiece alone");
    CHECK(error(R"({"do_basic_tokenize": false})") ==
          "tokenizer_config.json: do_basic_tokenize is false: text that is split already is "
          "not done");
    CHECK(error("[1]") == "tokenizer_config.json: is a list, expected an object of settings");
    // What nobody asks for harms nobody.
    CHECK(file.open().layers.size() == 2);
  }
}

TEST_CASE("a native file says all of it itself") {
  const auto open = [](const native::Fields& more) {
    OpenedModel model = open_model(native_file(native::with(native_words(), more)), {});
    return open_embeddings(model, {}, "");
  };
  const Embeddings plain = open({});
  CHECK(plain.vocabulary == std::vector<std::string>{"a", "b"});
  CHECK(plain.vocabulary_source == "w.json");
  CHECK(plain.text.lower_case);
  CHECK(plain.text.begin.empty());
  CHECK(plain.text.end.empty());
  const Embeddings said = open({{"lower_case", "false"},
                                {"split_chinese", "false"},
                                {"text_begin", "\"a\""},
                                {"text_end", "\"b\""}});
  CHECK_FALSE(said.text.lower_case);
  CHECK_FALSE(said.text.strip_accents);
  CHECK_FALSE(said.text.split_chinese);
  CHECK(said.text.begin == "a");
  CHECK(said.text.end == "b");
}

TEST_CASE("native names are held to those that are known") {
  const auto error = [](const native::Fields& more) {
    return error_of([&] { open_model(native_file(native::with(native_words(), more)), {}); });
  };
  CHECK(error({{"embeddings.position", native::counted({3, 4})}}) ==
        "w.json: the tensor embeddings.position is unknown; did you mean "
        "embeddings.positions?");
  CHECK(error({{"lower_cas", "true"}}) ==
        "w.json: the setting lower_cas is unknown; did you mean lower_case?");
  CHECK(error({{"vocabularies", R"(["a"])"}}) ==
        "w.json: the list of strings vocabularies is unknown among weights");
  CHECK(error({{"embeddings.norm.bias", native::counted({4})}}) == "no error");
  CHECK(error_of([&] {
          OpenedModel model = open_model(
              native_file(native::with(native_words(),
                                       {{"embeddings.norm.bias", native::counted({4})}})),
              {});
          open_embeddings(model, {}, "");
        }).find("embeddings.norm.weight is missing") != std::string::npos);
}

TEST_CASE("embeddings go into native files and come back to the bit") {
  const Model file(bert("bert."));
  file.folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nthé\n##中\n\n12\n\"\\\n");
  file.folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  OpenedModel model = file.open();
  const Embeddings before = open_embeddings(model, {}, "");
  const TempFolder folder;
  const auto write = [&](const OpenedModel& from, const Embeddings& embeddings,
                         const std::string& name) {
    WholeFile to(folder / name);
    write_archive(to, archive_format_of_path(name), native_archive(from, {}, &embeddings));
    to.commit();
    return open_model(open_archive(folder / name), {});
  };
  const std::string first = GENERATE("a.json", "a.npz", "a.safetensors");
  const std::string second = GENERATE("b.json", "b.npz", "b.safetensors");
  INFO(first << " " << second);
  OpenedModel once = write(model, before, first);
  OpenedModel twice = write(once, open_embeddings(once, {}, ""), second);
  const Embeddings after = open_embeddings(twice, {}, "");
  CHECK(after.vocabulary == before.vocabulary);
  CHECK(after.vocabulary.size() == 8);
  CHECK_FALSE(after.text.lower_case);
  CHECK_FALSE(after.text.strip_accents);
  CHECK(after.text.split_chinese);
  CHECK(after.text.begin == "[CLS]");
  CHECK(after.text.end == "[SEP]");
  REQUIRE(after.tensors.size() == 5);
  for (const auto& [name, tensor] : before.tensors) {
    INFO(name);
    const auto expected = read_found<double>(model.file, tensor, false);
    const auto found = read_found<double>(twice.file, after.tensors.at(name), false);
    CHECK(std::ranges::equal(found.values(), expected.values()));
  }
}

TEST_CASE("a native file without a vocabulary has words all the same") {
  const Model file(bert());
  OpenedModel model = file.open();
  const Embeddings embeddings = open_embeddings(model, {}, "");
  const Archive archive = native_archive(model, {}, &embeddings);
  CHECK(archive.lists.empty());
  CHECK(archive.find("embeddings.words") != nullptr);
  CHECK(native_archive(model, {}).find("embeddings.words") == nullptr);
}
