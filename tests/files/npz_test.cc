#include "files/npz.h"

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

Archive open(const std::vector<CraftedEntry>& entries) {
  return open_npz(read_zip(Bytes::own(make_zip(entries)), "w.npz"), "w.npz");
}
std::string open_error(const std::vector<CraftedEntry>& entries) {
  return error_of([&] { open(entries); });
}
std::string vector_of(const std::vector<float>& values) {
  return make_npy("<f4", false, "(" + std::to_string(values.size()) + ",)", floats(values));
}

}  // namespace

TEST_CASE("numpy's own .npz files give tensors, settings and labels") {
  const std::string name = GENERATE("stored", "deflated");
  const std::string path = MHA_SOURCE_DIR "/tests/files/data/" + name + ".npz";
  const Archive archive = open_npz(read_zip(Bytes::open(path), path), path);
  std::vector<double> expected;
  for (int i = 0; i < 12; ++i) expected.push_back(i / 8.0);
  REQUIRE(archive.members.size() == 2);
  CHECK(archive.container == "npz");
  CHECK(archive.members[0].name == "W_Q");
  CHECK(numbers(archive, "W_Q") == expected);
  CHECK(numbers(archive, "layers.0/W_K") == expected);
  CHECK(archive.settings ==
        std::map<std::string, std::string>{
            {"n_heads", "2"}, {"eps", "1e-05"}, {"causal", "true"}, {"norm", "pre"}});
  CHECK(archive.lists.at("tokens") == std::vector<std::string>{"the", "Katze", "größer"});
}

TEST_CASE("text of both kinds and byte orders is read") {
  const std::string wide_big = std::string("\0\0\0\x41\0\x01\xF6\x00\0\0\0\0", 12);
  const Archive archive = open(
      {{.name = "a.npy", .content = make_npy(">U3", false, "()", wide_big)},
       {.name = "b.npy", .content = make_npy("|S4", false, "()", std::string("pre\0", 4))},
       {.name = "c.npy", .content = make_npy("<U0", false, "()", "")}});
  CHECK(archive.settings.at("a") == "A\U0001F600");
  CHECK(archive.settings.at("b") == "pre");
  CHECK(archive.settings.at("c").empty());
  CHECK(archive.members.empty());
}

TEST_CASE("text that is no Unicode, or far too much of it, is refused") {
  CHECK(open_error({{.name = "a.npy",
                     .content = make_npy("<U1", false, "()", little(0x110000, 4))}}) ==
        "w.npz: a: character 0 is 1114112, which is no Unicode code point");
  CHECK(open_error(
            {{.name = "a.npy", .content = make_npy("<U1", false, "()", little(0xD800, 4))}}) ==
        "w.npz: a: character 0 is 55296, which is no Unicode code point");
  CHECK(open_error(
            {{.name = "a.npy", .content = make_npy("<U0", false, "(9999999999,)", "")}}) ==
        "w.npz: a: '<U0' of shape [9999999999] is too long for a setting or a list of labels");
  CHECK(open_error({{.name = "a.npy",
                     .content = make_npy("|S2000000", false, "()", std::string(2000000, 'a')),
                     .deflate = true}}) ==
        "w.npz: a: '|S2000000' of shape [] is too long for a setting or a list of labels");
}

TEST_CASE("a missing name lists what the archive holds, nearest first") {
  const Archive archive = open({{.name = "W_Q.npy", .content = vector_of({1})},
                                {.name = "W_K.npy", .content = vector_of({2})}});
  CHECK(error_of([&] { archive.at("w_q"); }) ==
        "w.npz: has no tensor w_q, did you mean W_Q?; it holds W_Q, W_K");
  CHECK(error_of([&] { archive.at("bias"); }) ==
        "w.npz: has no tensor bias; it holds W_Q, W_K");
}

TEST_CASE("a member that is no .npy array is refused by name") {
  CHECK(open_error({{.name = "W_Q.npy", .content = vector_of({1})},
                    {.name = "notes.txt", .content = "hello"}}) ==
        "w.npz: notes.txt: is no .npy array, which is all that an .npz file holds");
  CHECK(open_error({{.name = "W_Q.npy", .content = "hello"}}) ==
        "w.npz: W_Q.npy: is no .npy array, it does not begin with \\x93NUMPY");
  CHECK(open_error({{.name = "W_Q.npy", .content = "\x93NUM"}}) ==
        "w.npz: W_Q.npy: 4 bytes, too few for the header of a .npy array");
  CHECK(open_error({}) == "w.npz: is a zip archive with nothing in it");
}

TEST_CASE("a member's size must be that of its array") {
  for (const bool deflate : {false, true}) {
    CHECK(open_error({{.name = "W_Q.npy",
                       .content = make_npy("<f4", false, "(3,)", floats({1, 2})),
                       .deflate = deflate}}) ==
          "w.npz: W_Q.npy: shape [3] of '<f4' needs 12 bytes, found 8");
  }
}

TEST_CASE("damage to a tensor is found when it is read, to a setting at once") {
  const Archive archive = open({{.name = "W_Q.npy", .content = vector_of({1}), .crc = 7}});
  CHECK(error_of([&] { numbers(archive, "W_Q"); }) ==
        "w.npz: W_Q.npy: is damaged, its checksum (CRC-32) does not match");
  CHECK(open_error({{.name = "n_heads.npy",
                     .content = make_npy("<i8", false, "()", little(2, 8)),
                     .crc = 7}}) ==
        "w.npz: n_heads.npy: is damaged, its checksum (CRC-32) does not match");
}

TEST_CASE("an object member is refused only when it is asked for") {
  const Archive archive =
      open({{.name = "meta.npy", .content = make_npy("|O", false, "()", "N.")},
            {.name = "W_Q.npy", .content = vector_of({1})}});
  CHECK(numbers(archive, "W_Q") == std::vector<double>{1});
  CHECK(error_of([&] { numbers(archive, "meta"); }) ==
        "w.npz: meta: dtype |O is Python objects, a pickle, which is never run; save numbers");
}

TEST_CASE("a folder of .npy files is a tensor a file, in the order of names") {
  const TempFolder folder;
  folder.write("W_Q.npy", vector_of({1, 2}));
  folder.write("W_K.npy", vector_of({3}));
  folder.write("n_heads.npy", make_npy("<i8", false, "()", little(2, 8)));
  folder.write("README", "not a tensor");
  folder.write("config.json", "{}");
  const Archive archive = open_npy_folder(folder.path());
  CHECK(archive.container == "npy folder");
  REQUIRE(archive.members.size() == 2);
  CHECK(archive.members[0].name == "W_K");
  CHECK(archive.members[1].name == "W_Q");
  CHECK(numbers(archive, "W_Q") == std::vector<double>{1, 2});
  CHECK(archive.settings.at("n_heads") == "2");
}

TEST_CASE("a folder's bad file is named, a folder without any too") {
  const TempFolder folder;
  folder.write("README", "");
  CHECK(error_of([&] { open_npy_folder(folder.path()); }) ==
        folder.path().string() +
            ": is a folder without .npy files, expected a tensor in each NAME.npy");
  folder.write("pytorch_model.bin", "");
  CHECK(error_of([&] { open_npy_folder(folder.path()); }) ==
        folder.path().string() +
            ": is a folder, expected the file in it: " + folder / "pytorch_model.bin");
  folder.write("model.safetensors", "");
  CHECK(error_of([&] {
          open_npy_folder(folder.path());
        }).ends_with("the file in it: " + folder / "model.safetensors"));
  folder.write("W_Q.npy", "");
  CHECK(error_of([&] { open_npy_folder(folder.path()); }) ==
        folder / "W_Q.npy" + ": 0 bytes, too few for the header of a .npy array");
}
