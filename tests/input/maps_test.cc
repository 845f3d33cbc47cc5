#include "input/maps.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "catch.h"
#include "files/archive_writer.h"
#include "files/format.h"
#include "files/whole_file.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

using Labels = std::vector<std::string>;

// Maps of that shape, whose weights are all the same.
Tensor<float> even_maps(const Shape& shape) {
  Tensor<float> maps(shape);
  const std::size_t n = shape.back();
  std::fill_n(maps.data(), maps.size(), 1.0F / static_cast<float>(n));
  return maps;
}

std::string write_npy(const TempFolder& folder, const std::string& name,
                      const Tensor<float>& maps) {
  WholeFile file(folder / name);
  write_tensor(file, Format::npy, maps, "maps");
  file.commit();
  return folder / name;
}

}  // namespace

TEST_CASE("axes of maps are told by their number") {
  const TempFolder folder;
  const auto open = [&](const Shape& shape, const std::string& axis = "") {
    return open_maps(write_npy(folder, "m.npy", even_maps(shape)), {axis, {}});
  };
  const MapsFile one = open({3, 4});
  CHECK(one.heads == 1);
  CHECK(one.n_queries == 3);
  CHECK(one.n_keys == 4);
  CHECK_FALSE(one.has_layers);
  const MapsFile heads = open({2, 3, 4});
  CHECK(heads.heads == 2);
  CHECK(heads.layers == 1);
  CHECK_FALSE(heads.guessed);
  const MapsFile layers = open({5, 2, 3, 4});
  CHECK(layers.layers == 5);
  CHECK(layers.items == 1);
  CHECK(layers.guessed);
  const MapsFile batch = open({5, 2, 3, 4}, "batch");
  CHECK(batch.items == 5);
  CHECK_FALSE(batch.has_layers);
  CHECK_FALSE(batch.guessed);
  CHECK_FALSE(open({5, 2, 3, 4}, "layers").guessed);
  const MapsFile all = open({6, 5, 2, 3, 4});
  CHECK(all.layers == 6);
  CHECK(all.items == 5);
  CHECK(all.heads == 2);
  CHECK(error_of([&] { open({4}); }) ==
        folder / "m.npy" +
            " is [4], expected maps [n_heads, n_queries, n_keys], with a batch or layers in "
            "front where there are some");
  CHECK(error_of([&] {
          open({2, 0, 4});
        }) == folder / "m.npy" + " is [2, 0, 4]: there are no maps in it");
}

TEST_CASE("a file says axes, numbers of layers and names of tokens itself") {
  const TempFolder folder;
  const std::string maps =
      R"("maps": [[[[1, 0], [0.5, 0.5]]], [[[0, 1], [0.25, 0.75]]]], "queries": ["it", "cat"])";
  const std::string path =
      folder.write("m.json", "{" + maps +
                                 R"(, "axes": "layers,heads,queries,keys", "layers": [3, 5],
                       "heads": ["mean over heads"], "keys": ["a", "b"]})");
  const MapsFile file = open_maps(path, {});
  CHECK(file.layer_numbers == std::vector<std::size_t>{3, 5});
  CHECK(file.head_names == Labels{"mean over heads"});
  CHECK(file.queries == Labels{"it", "cat"});
  CHECK(file.keys == Labels{"a", "b"});
  CHECK_FALSE(file.guessed);
  CHECK(error_of([&] {
          open_maps(path, {"batch", {}});
        }) == "--axes: batch, but " + path + " says layers,heads,queries,keys");

  const std::string list = folder.write(
      "list.json", "{" + maps + R"(, "axes": ["batch", "heads", "queries", "keys"]})");
  CHECK(open_maps(list, {}).items == 2);
  const std::string few = folder.write("few.json", "{" + maps + R"(, "keys": ["a"]})");
  CHECK(error_of([&] { open_maps(few, {}); }) ==
        few + ": `keys` names 1, but the maps have 2");

  const std::string odd = folder.write("odd.json", "{" + maps + R"(, "axes": "n,m"})");
  CHECK(error_of([&] { open_maps(odd, {}); }) ==
        odd + ": maps has four axes, but `axes` is n,m");
}

TEST_CASE("labels of an option name the axes that are as long") {
  const TempFolder folder;
  const std::string path = write_npy(folder, "m.npy", even_maps({2, 2, 3}));
  CHECK(open_maps(path, {"", {"a", "b", "c"}}).keys == Labels{"a", "b", "c"});
  CHECK(open_maps(path, {"", {"a", "b", "c"}}).queries.empty());
  CHECK(open_maps(path, {"", {"a", "b"}}).queries == Labels{"a", "b"});
  CHECK(error_of([&] {
          open_maps(path, {"", {"a"}});
        }) == "--labels: 1 names, " + path + " has 2 queries and 3 keys");
  const std::string square = write_npy(folder, "s.npy", even_maps({2, 2, 2}));
  const MapsFile both = open_maps(square, {"", {"a", "b"}});
  CHECK(both.queries == Labels{"a", "b"});
  CHECK(both.keys == Labels{"a", "b"});
}

TEST_CASE("rows are read from their place, and only such as are weights") {
  const TempFolder folder;
  Tensor<float> maps = even_maps({2, 3, 2, 4, 4});
  // Layer 1, item 2, head 0, query 3.
  float* row = maps.data() + (((1 * 3 + 2) * 2 + 0) * 4 + 3) * 4;
  row[0] = 0.75F;
  row[1] = row[2] = 0.125F;
  row[3] = 0.0F;
  const auto rows = [&](std::size_t count) {
    const MapsFile file = open_maps(write_npy(folder, "m.npy", maps), {});
    return read_map_rows<double>(file, 1, 2, 0, 3, count);
  };
  const Tensor<double> read = rows(1);
  CHECK(read.shape() == Shape{1, 4});
  CHECK(std::vector<double>(read.data(), read.data() + 4) ==
        std::vector<double>{0.75, 0.125, 0.125, 0.0});

  const std::string place = folder / "m.npy" + ": layer 1, item 2, head 0, query 3: ";
  row[0] = -0.25F;
  CHECK(error_of([&] { rows(1); }) ==
        place + "the weight of key 0 is -0.25, expected 0 to 1; are these maps?");
  row[0] = 0.5F;
  CHECK(error_of([&] { rows(1); }) == place +
                                          "the weights sum up to 0.75, expected 1, or 0 where "
                                          "no key is seen; are these maps?");
  row[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(error_of([&] { rows(1); }).find("key 0 is nan") != std::string::npos);
  std::fill(row, row + 4, 0.0F);
  CHECK_NOTHROW(rows(1));
}

TEST_CASE("a grid shows what was chosen, by label, number and range") {
  const TempFolder folder;
  const std::string path = folder.write("m.json", R"({
    "maps": [[[[0.5, 0.25, 0.25], [1, 0, 0], [0, 0.5, 0.5]]],
             [[[0, 1, 0], [0, 0, 1], [0.125, 0.375, 0.5]]]],
    "axes": "layers,heads,queries,keys", "layers": [4, 7], "tokens": ["it", "cat", "it"]})");
  const MapsFile file = open_maps(path, {});
  MapsChoice choice;
  const MapGrid all = choose_maps(file, choice);
  CHECK(all.layers == std::vector<std::size_t>{4, 7});
  CHECK(all.name_of(1, 0) == "layer 7, head 0");
  CHECK(all.map(1, 0).shape() == Shape{3, 3});

  choice.layers = {7};
  choice.queries = {"2"};
  choice.keys = {"it"};
  const MapGrid part = choose_maps(file, choice);
  CHECK(part.queries == Labels{"it"});
  CHECK(part.keys == Labels{"it", "it"});
  const Tensor<float> map = part.map(0, 0);
  CHECK(map.shape() == Shape{1, 2});
  CHECK(map.data()[0] == 0.125F);
  CHECK(map.data()[1] == 0.5F);

  choice = {};
  choice.queries = {"1-2"};
  CHECK(choose_maps(file, choice).queries == Labels{"cat", "it"});

  const auto refused = [&](const MapsChoice& wrong) {
    return error_of([&] { choose_maps(file, wrong); });
  };
  CHECK(refused({{5}, {}, 0, {}, {}}) == "--layer: 5 is not there, expected 4, 7");
  CHECK(refused({{}, {1}, 0, {}, {}}) == "--head: 1 is not there, expected 0");
  CHECK(refused({{}, {}, 1, {}, {}}) == "--item: 1 is not there, " + path + ": maps holds 1");
  CHECK(refused({{}, {}, 0, {"cot"}, {}}) ==
        "--query: 'cot' is no label, number or range, did you mean cat?; labels are it, cat, "
        "it");
  CHECK(refused({{}, {}, 0, {}, {"2-3"}}) == "--key: 2-3 is not there, expected 0 to 2");
  CHECK(refused({{}, {}, 0, {"2-1"}, {}}).find("'2-1' is no label") != std::string::npos);
}
