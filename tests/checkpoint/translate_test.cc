#include "checkpoint/translate.h"

#include "catch.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

using Values = std::vector<double>;
using Lines = std::vector<std::string>;

TEST_CASE("four linear layers become native matrices, transposed by view") {
  const Translated result = translated(article());
  CHECK(result.scheme == "article");
  CHECK_FALSE(result.stack);
  CHECK(result.unused.empty());
  CHECK(shapes_of(result) == std::map<std::string, Shape>{{"W_Q", {4, 4}},
                                                          {"W_K", {4, 4}},
                                                          {"W_V", {4, 4}},
                                                          {"W_O", {4, 4}},
                                                          {"b_Q", {4}},
                                                          {"b_K", {4}},
                                                          {"b_V", {4}},
                                                          {"b_O", {4}}});
  CHECK(values_of(result, "W_Q") ==
        Values{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  CHECK(result.archive.at("W_Q").origin == "W_q.weight");
}

TEST_CASE("packed projections are the thirds of one matrix") {
  const Translated result = translated(torch_layer());
  CHECK(result.scheme == "torch-layer");
  CHECK(values_of(result, "W_Q") ==
        Values{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  CHECK(values_of(result, "b_K") == Values{4, 5, 6, 7});
  CHECK(values_of(result, "W_V")[0] == 32);
  CHECK(shapes_of(result).at("W_1") == Shape{4, 6});
  CHECK(shapes_of(result).at("W_2") == Shape{6, 4});
}

TEST_CASE("layers of a stack keep their numbers, and what stands outside is left aside") {
  const Translated result =
      translated(stacked("bert.encoder.layer.", 2, bert_layer()) +
                 Names{{"bert.embeddings.word_embeddings.weight", {5, 4}}});
  CHECK(result.scheme == "bert");
  CHECK(result.stack);
  CHECK(result.archive.members.size() == 32);
  CHECK(result.archive.at("layers.1.norm2.bias").origin ==
        "bert.encoder.layer.1.output.LayerNorm.bias");
  CHECK(result.unused == Lines{"bert.embeddings.word_embeddings.weight"});
  CHECK(by_name(result.defaults) == std::map<std::string, std::string>{{"norm", "post"},
                                                                       {"activation", "gelu"},
                                                                       {"eps", "1e-12"}});
}
