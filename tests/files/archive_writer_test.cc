#include "files/archive_writer.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "files/crafted.h"
#include "files/member_view.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

Member f64(const std::string& name, Shape shape, const std::vector<double>& values) {
  Member member;
  member.name = name;
  member.dtype = DType::f64;
  member.shape = std::move(shape);
  const Bytes bytes = Bytes::own(bytes_of(values));
  member.fetch = [bytes] { return bytes; };
  return member;
}

// Written under that name and opened again.
Archive round_trip(const TempFolder& folder, const std::string& name, const Archive& archive) {
  const std::string path = folder / name;
  WholeFile file(path);
  write_archive(file, archive_format_of_path(path), archive);
  file.commit();
  return open_archive(path);
}

std::vector<std::uint64_t> bits(const Archive& archive, const std::string& name) {
  std::vector<std::uint64_t> result;
  const auto tensor = read_tensor<double>(archive, archive.at(name));
  for (const double value : tensor.values()) {
    result.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return result;
}

}  // namespace

TEST_CASE("every container gives back the same numbers, shapes and settings") {
  const TempFolder folder;
  Archive archive;
  archive.settings = {{"n_heads", "2"},        {"eps", "1e-05"},         {"scale", "0.25"},
                      {"gated", "false"},      {"norm", "pre"},          {"odd", "007"},
                      {"rope_theta", "1e+06"}, {"layers.3.window", "64"}};
  archive.members.push_back(f64("W_Q", {2, 3}, {0.1, -0.0, 1.0 / 3, 5e-324, 1e300, -7}));
  archive.members.push_back(f64("layers.0.b", {2}, {0.5, static_cast<double>(0.1F)}));
  archive.members.push_back(permute(f64("turned", {2, 2}, {1, 2, 3, 4}), {1, 0}));
  const std::string name = GENERATE("w.json", "w.npz", "w.safetensors", "w.BIN");
  const Archive again = round_trip(folder, name, archive);
  INFO(name);
  CHECK(again.settings == archive.settings);
  REQUIRE(again.members.size() == archive.members.size());
  for (const Member& member : archive.members) {
    CHECK(again.at(member.name).shape == member.shape);
    CHECK(bits(again, member.name) == bits(archive, member.name));
  }
  if (std::string(name) != "w.json") {
    CHECK(again.at("W_Q").dtype == DType::f64);
    CHECK(again.at("layers.0.b").dtype == DType::f32);
  }
}

TEST_CASE("an archive without tensors and one without settings are written too") {
  const TempFolder folder;
  Archive archive;
  archive.settings = {{"n_heads", "2"}};
  const std::string name = GENERATE("w.json", "w.npz", "w.bin");
  CHECK(round_trip(folder, name, archive).settings == archive.settings);
  archive = {};
  archive.members.push_back(f64("a", {1}, {1}));
  CHECK(round_trip(folder, name, archive).members.size() == 1);
}

TEST_CASE("tensors of safetensors begin at a multiple of their size, wide ones first") {
  const TempFolder folder;
  Archive archive;
  archive.members.push_back(f64("b", {1}, {1}));
  archive.members.push_back(f64("wide", {1}, {0.1}));
  archive.members.push_back(f64("a", {1}, {2}));
  round_trip(folder, "w.bin", archive);
  const std::string bytes = read_file(folder / "w.bin");
  CHECK(static_cast<unsigned char>(bytes[0]) % 8 == 0);
  CHECK(bytes.find("\"wide\"") < bytes.find("\"a\""));
  CHECK(bytes.find("\"a\"") < bytes.find("\"b\""));
  CHECK(bytes.substr(bytes.size() - 16) == bytes_of<double>({0.1}) + floats({2, 1}));
}

TEST_CASE("a number that JSON does not know is refused, binary files keep it") {
  const TempFolder folder;
  Archive archive;
  archive.path = "w.bin";
  archive.members.push_back(f64("W_Q", {2}, {1, -std::numeric_limits<double>::infinity()}));
  CHECK(error_of([&] { round_trip(folder, "w.json", archive); }) ==
        "w.bin: W_Q holds -inf, which JSON does not know; write .safetensors or .npz");
  CHECK(bits(round_trip(folder, "w.npz", archive), "W_Q") == bits(archive, "W_Q"));
}

TEST_CASE("the suffix tells the container, others are refused with the list") {
  CHECK(archive_format_of_path("a.b/w.NPZ") == ArchiveFormat::npz);
  CHECK(error_of([] { archive_format_of_path("w.pt"); }) ==
        "w.pt: the suffix .pt is unknown, expected .json, .npz, .safetensors or .bin (or say "
        "--format)");
  CHECK(error_of([] { archive_format_of_path("a.json/w"); }).find("suffix is missing") !=
        std::string::npos);
}

TEST_CASE("every container gives back lists of strings and settings of any script") {
  const TempFolder folder;
  Archive archive;
  archive.settings = {{"text_begin", "«é"}, {"text_end", ""}, {"odd", "[\"a\", 1]"}};
  archive.lists = {{"vocabulary", {"the", "##é", "中文", "𝒜", "", "\"quoted\"", "a\\b", "12"}},
                   {"more", {""}}};
  archive.members.push_back(f64("x", {1}, {1}));
  const std::string name = GENERATE("w.json", "w.npz", "w.safetensors");
  const Archive again = round_trip(folder, name, archive);
  INFO(name);
  CHECK(again.lists == archive.lists);
  CHECK(again.settings == archive.settings);
}

TEST_CASE("a list that no .npz could give back is not written into one") {
  const TempFolder folder;
  Archive archive;
  archive.lists["vocabulary"] = std::vector<std::string>(1000, "a");
  archive.lists["vocabulary"].emplace_back(100000, 'b');
  CHECK(error_of([&] { round_trip(folder, "w.npz", archive); }) ==
        "vocabulary: 1001 texts of up to 100000 characters are too long for .npz; write "
        ".safetensors or .json");
  CHECK(round_trip(folder, "w.json", archive).lists == archive.lists);
}
