#include "files/sharded.h"

#include "catch.h"
#include "files/crafted_pickle.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

// A safetensors file of one number under each name.
std::string shard_of(const std::vector<std::pair<std::string, float>>& tensors) {
  std::string header, data;
  for (const auto& [name, value] : tensors) {
    header += (header.empty() ? "{\"" : ",\"") + name +
              R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 4) + "]}";
    data += floats({value});
  }
  return make_safetensors(header + "}", data);
}

std::string index_of(const std::string& map) {
  return R"({"metadata": {"total_size": 12}, "weight_map": )" + map + "}";
}

std::string index_error(const TempFolder& folder, const std::string& map) {
  const std::string path = folder.write(kIndex, index_of(map));
  return error_of([&] { open_archive(path); });
}

}  // namespace

TEST_CASE("an index opens its shards, which lie beside it") {
  const TempFolder folder;
  folder.write("one.safetensors", shard_of({{"a", 1}, {"left", 9}, {"b", 2}}));
  folder.write("two.safetensors", shard_of({{"c", 3}}));
  const std::string path = folder.write(
      kIndex,
      index_of(R"({"c": "two.safetensors", "a": "one.safetensors", "b": "one.safetensors"})"));
  const Archive archive = open_archive(path);
  CHECK(archive.path == path);
  CHECK(archive.container == "sharded safetensors");
  REQUIRE(archive.members.size() == 3);
  CHECK(archive.members[0].name == "c");
  CHECK(numbers(archive, "a") == std::vector<double>{1});
  CHECK(numbers(archive, "b") == std::vector<double>{2});
  CHECK(numbers(archive, "c") == std::vector<double>{3});
  CHECK(where(archive, archive.at("a")) == path + ": a");
}

TEST_CASE("shards may be PyTorch's") {
  const TempFolder folder;
  folder.write("pytorch_model-1.bin", pk::checkpoint(pk::dict({{"a", pk::tensor()}})));
  const std::string path = folder.write("pytorch_model.bin.index.json",
                                        index_of(R"({"a": "pytorch_model-1.bin"})"));
  const Archive archive = open_archive(path);
  CHECK(archive.container == "sharded PyTorch");
  CHECK(numbers(archive, "a").size() == 6);
}

TEST_CASE("an index is told from weights by its weight_map alone") {
  CHECK(is_shard_index("\xEF\xBB\xBF\n{ \"weight_map\" :\n {}}"));
  CHECK_FALSE(is_shard_index("{\"weight_map\": \"model\"}"));
  CHECK_FALSE(is_shard_index("{\"a\": \"weight_map\"}"));
  CHECK_FALSE(is_shard_index("[{\"weight_map\": {}}]"));
  CHECK_FALSE(is_shard_index("{\"W_Q\": [[1]]}"));
}

TEST_CASE("a shard that is missing or elsewhere is refused with who needs it") {
  const TempFolder folder;
  folder.write("one.safetensors", shard_of({{"a", 1}}));
  folder.write("notes.txt", "1 2 3\n");
  folder.write("other.index.json", index_of(R"({"a": "one.safetensors"})"));
  const std::string start = folder / kIndex + ": shard ";
  CHECK(index_error(folder, R"({"a": "one.safetensors", "b": "two.safetensors"})") ==
        start + "two.safetensors (of b) is missing beside the index");
  CHECK(fails_with(Fault::system, [&] { open_archive(folder / kIndex); }));
  CHECK(index_error(folder, R"({"a": "one.safetensors", "b": "one.safetensors"})") ==
        start + "one.safetensors: has no tensor b, which the index promises");
  for (const std::string name : {"../one.safetensors", "/etc/passwd", "..", ".", "",
                                 "sub/one.safetensors", "one\\u0000.safetensors"}) {
    INFO(name);
    CHECK(index_error(folder, R"({"a": ")" + name + "\"}")
              .ends_with(" (of a) is no name of a file beside the index"));
  }
  CHECK(index_error(folder, R"({"a": "notes.txt"})") ==
        start + "notes.txt (of a) is text, expected safetensors or PyTorch");
  // Nor an index of an index of …
  CHECK(index_error(folder, R"({"a": "other.index.json"})") != "no error");
  CHECK(index_error(folder, R"({"a": 1})") ==
        folder / kIndex + ": weight_map.a is no name of a shard");
  CHECK(index_error(folder, "{}") ==
        folder / kIndex + ": expected an object weight_map of tensors and their shards");
}
