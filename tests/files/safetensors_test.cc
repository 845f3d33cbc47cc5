#include "files/safetensors.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

Archive open(const std::string& header, const std::string& data) {
  return open_safetensors(Bytes::own(make_safetensors(header, data)), "w.bin");
}
std::string open_error(const std::string& header, const std::string& data = "") {
  return error_of([&] { open(header, data); });
}
// One tensor called a, over eight bytes.
std::string tensor_error(const std::string& dtype, const std::string& shape,
                         const std::string& offsets) {
  return open_error("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
                        ",\"data_offsets\":" + offsets + "}}",
                    std::string(8, '\0'));
}
std::string f32(const std::string& name, std::size_t count, std::size_t begin,
                std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(count) +
         "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}
// The most memory this process ever had, in bytes.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kilobytes) break;
  }
  return kilobytes * 1024;
}

}  // namespace

TEST_CASE("tensors of every dtype are read, settings are the metadata") {
  const std::string header =
      R"({"__metadata__":{"n_heads":"2","norm":"pre"},)"
      R"("half":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},)"
      R"("brain":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},)"
      R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
      R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]},)"
      R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[12,15]},)"
      R"("wide":{"dtype":"F64","shape":[1],"data_offsets":[15,23]},)"
      R"("count":{"dtype":"I64","shape":[1],"data_offsets":[23,31]}}   )";
  const std::string data =
      bytes_of<std::uint16_t>({0x3FC0, 0xBE80}) + bytes_of<std::uint16_t>({0x3E00, 0x0001}) +
      floats({0.1f}) + std::string("\1\0\1", 3) + bytes_of<double>({0.1}) + little(1 << 20, 8);
  const Archive archive = open(header, data);
  CHECK(archive.container == "safetensors");
  CHECK(archive.settings ==
        std::map<std::string, std::string>{{"n_heads", "2"}, {"norm", "pre"}});
  CHECK(archive.members.size() == 7);
  CHECK(numbers(archive, "brain") == std::vector<double>{1.5, -0.25});
  CHECK(numbers(archive, "half") == std::vector<double>{1.5, 0x1p-24});
  CHECK(numbers(archive, "scalar") == std::vector<double>{0.1f});
  CHECK(archive.at("scalar").shape.empty());
  CHECK(archive.at("none").shape == Shape{0, 7});
  CHECK(numbers(archive, "none").empty());
  CHECK(numbers(archive, "mask") == std::vector<double>{1, 0, 1});
  CHECK(numbers(archive, "wide") == std::vector<double>{0.1});
  CHECK(numbers(archive, "count") == std::vector<double>{1 << 20});
  CHECK(open("{}", "").members.empty());
}

TEST_CASE("tensors are views of the file") {
  const Bytes file =
      Bytes::own(make_safetensors("{" + f32("a", 2, 0, 8) + "}", floats({1, 2})));
  const Archive archive = open_safetensors(file, "w.bin");
  CHECK(archive.at("a").fetch().data() == file.data() + file.size() - 8);
}

TEST_CASE("a header length that is not true is refused") {
  const auto error = [](std::uint64_t length, const std::string& rest) {
    return error_of([&] { open_safetensors(Bytes::own(little(length, 8) + rest), "w.bin"); });
  };
  CHECK(error(0, "{}") ==
        "w.bin: the safetensors header has a length of 0 bytes, expected at least 2, an empty "
        "object");
  CHECK(error(3, "{}") ==
        "w.bin: the safetensors header has a length of 3 bytes, the file has 2 left");
  CHECK(error(std::uint64_t{1} << 63, "{}") ==
        "w.bin: the safetensors header has a length of 9223372036854775808 bytes, the file "
        "has 2 "
        "left");
  CHECK(
      error(std::numeric_limits<std::uint64_t>::max(), "{}") ==
      "w.bin: the safetensors header has a length of 18446744073709551615 bytes, the file has "
      "2 left");
  CHECK(error_of([] { open_safetensors(Bytes::own("1234567"), "w.bin"); }) ==
        "w.bin: 7 bytes, too few for a safetensors file");
}

TEST_CASE("a header that is no JSON object says where") {
  CHECK(open_error("{\"a\":}").starts_with("w.bin: safetensors header: line 1, column 6"));
  CHECK(open_error("{\"a\":1") != "no error");
  CHECK(open_error("[1, 2]") == "w.bin: the safetensors header is [1, 2], expected an object");
  CHECK(open_error("{\"a\xFF\":{}}") != "no error");
  CHECK(
      open_error("{" + f32("a", 1, 0, 4) + "," + f32("a", 1, 4, 8) + "}", std::string(8, 'x'))
          .find("a is given twice") != std::string::npos);
}

TEST_CASE("an entry without its fields is refused by name") {
  CHECK(open_error("{\"a\":1}") ==
        "w.bin: a: is 1 in the header, expected an object with dtype, shape and data_offsets");
  CHECK(open_error("{\"a\":{}}") == "w.bin: a: dtype is nothing, expected a string");
  CHECK(open_error("{\"a\":{\"dtype\":5}}") == "w.bin: a: dtype is 5, expected a string");
  CHECK(open_error("{\"a\":{\"dtype\":\"F32\"}}") ==
        "w.bin: a: shape is nothing, expected a list of whole numbers, not negative");
  CHECK(open_error("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}") ==
        "w.bin: a: data_offsets is nothing, expected a list of whole numbers, not negative");
}

TEST_CASE("shapes are lists of whole numbers") {
  const std::string expected = ", expected a list of whole numbers, not negative";
  CHECK(tensor_error("F32", "[-2]", "[0,8]") == "w.bin: a: shape is [-2]" + expected);
  CHECK(tensor_error("F32", "[1.5]", "[0,8]") == "w.bin: a: shape is [1.5]" + expected);
  CHECK(tensor_error("F32", "2", "[0,8]") == "w.bin: a: shape is 2" + expected);
  CHECK(tensor_error("F32", "\"2\"", "[0,8]") == "w.bin: a: shape is \"2\"" + expected);
  CHECK(tensor_error("F32", "[[2]]", "[0,8]") ==
        "w.bin: a: shape is lists within a list" + expected);
  CHECK(tensor_error("F32", "[true]", "[0,8]") ==
        "w.bin: a: shape is a list of something else" + expected);
  CHECK(tensor_error("F32", "null", "[0,8]") == "w.bin: a: shape is null" + expected);
}

TEST_CASE("offsets that cannot be are refused") {
  const std::string expected = ", expected a list of whole numbers, not negative";
  CHECK(tensor_error("F32", "[2]", "[-8,0]") ==
        "w.bin: a: data_offsets is [-8, 0]" + expected);
  CHECK(tensor_error("F32", "[2]", "[0.5,8.5]") ==
        "w.bin: a: data_offsets is [0.5, 8.5]" + expected);
  CHECK(tensor_error("F32", "[2]", "[0,8,8]") ==
        "w.bin: a: data_offsets has 3 numbers, expected a begin and an end");
  CHECK(tensor_error("F32", "[2]", "[]") ==
        "w.bin: a: data_offsets has 0 numbers, expected a begin and an end");
  CHECK(tensor_error("F32", "[2]", "[8,0]") ==
        "w.bin: a: data_offsets [8, 0] end before they begin");
  CHECK(tensor_error("F32", "[3]", "[0,12]") ==
        "w.bin: a: data_offsets [0, 12] reach past the end, the file has 8 bytes after its "
        "header");
}

TEST_CASE("shape and bytes must agree") {
  CHECK(tensor_error("F32", "[3]", "[0,8]") ==
        "w.bin: a: shape [3] of F32 needs 12 bytes, data_offsets [0, 8] hold 8");
  CHECK(tensor_error("F8_E4M3", "[3]", "[0,8]") ==
        "w.bin: a: shape [3] of F8_E4M3 needs 3 bytes, data_offsets [0, 8] hold 8");
  CHECK(tensor_error("F4", "[3]", "[0,1]") ==
        "w.bin: a: shape [3] of F4 needs 2 bytes, data_offsets [0, 1] hold 1");
  CHECK(tensor_error("F32", "[4294967296, 4294967296]", "[0,8]") ==
        "w.bin: a: shape [4294967296, 4294967296] is too large");
  CHECK(tensor_error("F32", "[4503599627370496, 2048]", "[0,8]") ==
        "w.bin: a: shape [4503599627370496, 2048] of F32 is too large");
}

TEST_CASE("tensors lie side by side and fill the file") {
  const std::string data(16, '\0');
  CHECK(open_error("{" + f32("a", 1, 4, 8) + "}", data) ==
        "w.bin: a leaves a hole after the header: it begins at 4, expected 0");
  CHECK(open_error("{" + f32("b", 1, 8, 12) + "," + f32("a", 1, 0, 4) + "}", data) ==
        "w.bin: b leaves a hole after a: it begins at 8, expected 4");
  CHECK(open_error("{" + f32("a", 2, 0, 8) + "," + f32("b", 2, 4, 12) + "}", data) ==
        "w.bin: b overlaps a: it begins at 4, expected 8");
  CHECK(open_error("{" + f32("a", 2, 0, 8) + "," + f32("b", 2, 0, 8) + "}", data) ==
        "w.bin: b overlaps a: it begins at 0, expected 8");
  CHECK(open_error("{" + f32("a", 2, 0, 8) + "}", data) ==
        "w.bin: 8 bytes too many after a, which ends at 8 of 16");
  CHECK(open_error("{}", data) ==
        "w.bin: 16 bytes too many after the header, which ends at 0 of 16");
}

TEST_CASE("a dtype we cannot read is an error only for whoever reads it, and skips no check") {
  const std::string unknown = R"("odd":{"dtype":"F12","shape":[2],"data_offsets":[4,7]})";
  const Archive archive =
      open("{" + f32("a", 1, 0, 4) + "," + unknown + "}", floats({1}) + "xyz");
  CHECK(numbers(archive, "a") == std::vector<double>{1});
  CHECK(
      error_of([&] { numbers(archive, "odd"); }) ==
      "w.bin: odd: dtype F12 is not supported, expected floats of 16, 32 or 64 bits, integers "
      "or booleans");
  CHECK(open_error("{" + f32("a", 2, 0, 8) + "," + unknown + "}", std::string(8, 'x')) ==
        "w.bin: odd overlaps a: it begins at 4, expected 8");
  CHECK(tensor_error("F12", "[2]", "[0,9]") ==
        "w.bin: a: data_offsets [0, 9] reach past the end, the file has 8 bytes after its "
        "header");
  CHECK(tensor_error("F12", "[4294967296, 4294967296]", "[0,8]") ==
        "w.bin: a: shape [4294967296, 4294967296] is too large");
}

TEST_CASE("metadata that is JSON of a list of strings is a list") {
  const auto archive = open(R"({"__metadata__":{"vocabulary":"[\"a\", \"\\u4e2d\"]",)"
                            R"("one":"[\"a\"]","mixed":"[\"a\", 1, \"b\"]","numbers":"[1]",)"
                            R"("nested":"[[\"a\"], [\"b\"]]","broken":"[\"a\" \"b\"]",)"
                            R"("two":"[\"a\"][\"b\"]","open":"[\"a\"","empty":"[]"}})",
                            "");
  CHECK(archive.lists == std::map<std::string, std::vector<std::string>>{
                             {"vocabulary", {"a", "中"}}, {"one", {"a"}}});
  CHECK(archive.settings.size() == 7);
  CHECK(archive.settings.at("mixed") == R"(["a", 1, "b"])");
}

TEST_CASE("metadata holds strings and nothing else") {
  CHECK(open_error("{\"__metadata__\":{\"n_heads\":2}}") ==
        "w.bin: __metadata__: n_heads is 2, expected a string");
  CHECK(open_error("{\"__metadata__\":[]}") ==
        "w.bin: __metadata__ is [], expected an object of strings");
}

TEST_CASE("names are shown without their control characters") {
  CHECK(open_error("{\"a\\u0007\\n\":1}") ==
        "w.bin: a\\x07\\x0A: is 1 in the header, expected an object with dtype, shape and "
        "data_offsets");
}

TEST_CASE("a hostile header in a large file is refused quickly and in little memory") {
  const TempFolder folder;
  const std::uint64_t size = std::uint64_t{1} << 30;  // sparse
  const std::uint64_t length =
      GENERATE(std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 30) - 7,
               std::uint64_t{500} << 20);
  const std::string path = folder.write("w.bin", little(length, 8) + "{\"a\":");
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
  const std::size_t before = peak_memory();
  const std::clock_t start = std::clock();
  CHECK(error_of([&] { open_archive(path); }).starts_with(path + ": the safetensors header"));
  // Field case 26: less than 100 ms (of this process, whatever else runs) and 50 MB; it
  // takes well under one of each.
  CHECK(std::clock() - start < CLOCKS_PER_SEC / 10);
  CHECK(peak_memory() - before < 50'000'000);
}
