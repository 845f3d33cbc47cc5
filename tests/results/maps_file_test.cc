#include "results/maps_file.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "files/archive.h"
#include "files/whole_file.h"
#include "results/feed.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

TEMPLATE_TEST_CASE("streamed maps read back as they were, whatever their blocks", "", float,
                   double) {
  const std::size_t block_rows = GENERATE(1, 3, 5);
  const std::size_t padding = GENERATE(0, 2);
  const TempFolder folder;
  const std::string path = folder / "maps.npy";
  const Tensor<TestType> maps = counted<TestType>({2, 3, 5, 4});
  {
    WholeFile file(path);
    NpyStream<TestType> stream(file, maps.shape(), 3);
    feed(stream, maps, 3, block_rows, padding);
    CHECK_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  const Archive archive = open_archive(path);
  const Member& member = archive.at("");
  CHECK(member.dtype == (sizeof(TestType) == 4 ? DType::f32 : DType::f64));
  CHECK(same(read_tensor<TestType>(archive, member), maps));
}

TEST_CASE("maps that are not committed leave nothing behind") {
  const TempFolder folder;
  {
    const Tensor<float> maps = counted<float>({1, 2, 2});
    WholeFile file(folder / "maps.npy");
    NpyStream<float> stream(file, maps.shape(), 1);
    feed(stream, maps, 1, 2);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("maps without a row make a file of their shape") {
  const TempFolder folder;
  WholeFile file(folder / "maps.npy");
  NpyStream<float> stream(file, {2, 0, 4}, 2);
  file.commit();
  const Archive archive = open_archive(folder / "maps.npy");
  CHECK(archive.at("").shape == Shape{2, 0, 4});
}

TEST_CASE("maps that no disk here holds are refused before they are computed") {
  const TempFolder folder;
  const std::string path = folder / "maps.npy";
  const auto open = [&] {
    WholeFile(path, NpyStream<float>::file_size(path, {8, 4000000, 4000000}));
  };
  CHECK(fails_with(Fault::system, open));
  CHECK(error_of(open).find("512.0 TB") != std::string::npos);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEMPLATE_TEST_CASE("a .npz file of maps says what its axes and tokens are", "", float,
                   double) {
  const TempFolder folder;
  const std::string path = folder / "maps.npz";
  const Tensor<TestType> maps = counted<TestType>({2, 3, 4, 5});
  const auto write = [&](const MapsMembers& members) {
    WholeFile file(path);
    write_maps_npz(file, maps, members);
    file.commit();
    return open_archive(path);
  };
  const Archive all = write({"layers,heads,queries,keys",
                             {3, 5},
                             {"head 1", "head 0", "head 2"},
                             {"the", "cât", "中", ""},
                             {"a", "b", "c", "d", "bias_k"}});
  CHECK(all.at("maps").dtype == (sizeof(TestType) == 4 ? DType::f32 : DType::f64));
  CHECK(same(read_tensor<TestType>(all, all.at("maps")), maps));
  CHECK(all.settings ==
        std::map<std::string, std::string>{{"axes", "layers,heads,queries,keys"}});
  const auto layers = read_tensor<double>(all, all.at("layers"));
  CHECK(std::vector<double>(layers.data(), layers.data() + 2) == std::vector<double>{3, 5});
  CHECK(all.lists.at("heads").front() == "head 1");
  CHECK(all.lists.at("queries") == std::vector<std::string>{"the", "cât", "中", ""});
  CHECK(all.lists.at("keys").back() == "bias_k");
  const Archive bare = write({"batch,heads,queries,keys", {}, {}, {}, {}});
  CHECK(bare.members.size() == 1);
  CHECK(bare.lists.empty());
}
