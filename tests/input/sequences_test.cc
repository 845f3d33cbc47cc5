#include "input/sequences.h"

#include <cmath>

#include "base/error.h"
#include "catch.h"
#include "files/format.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

using Labels = std::vector<std::string>;

template <typename T>
std::vector<double> numbers(const Tensor<T>& tensor) {
  return {tensor.values().begin(), tensor.values().end()};
}

// A .npy file of version 1.0; `data` are the elements' bytes.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto size = static_cast<unsigned>(header.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size % 256) +
         static_cast<char>(size / 256) + header + data;
}

template <typename Element>
std::string bytes_of(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

}  // namespace

TEST_CASE("a source is a path and perhaps a tensor of it") {
  const TempFolder folder;
  const std::string odd = folder.write("a:b", "1");
  CHECK(parse_source("x.npy").path == "x.npy");
  CHECK(parse_source("x.npy").member.empty());
  CHECK(parse_source("dir:1/x.npz:layers.0:x").path == "dir:1/x.npz:layers.0");
  CHECK(parse_source("dir:1/x.npz:layers.0:x").member == "x");
  CHECK(parse_source(odd).path == odd);
  CHECK(parse_source(odd + ":y").path == odd);
  CHECK(parse_source("-").path == "-");
  CHECK(parse_source("-:x").member == "x");
  CHECK(parse_source("x.npy:").path == "x.npy:");
}

TEST_CASE("sequences are read from JSON with their labels") {
  const TempFolder folder;
  const std::string path = folder.write(
      "x.json",
      "{\"tokens\": [\"the\", \"cat\"], \"other\": [1], \"x\": [[1, 2, 3], [4, 5, 6.5]]}");
  const auto x = read_sequences<float>(path, false);
  CHECK(x.values.shape() == Shape{2, 3});
  CHECK(numbers(x.values) == std::vector<double>{1, 2, 3, 4, 5, 6.5});
  CHECK(x.labels == Labels{"the", "cat"});
  CHECK(x.form == "JSON");
  CHECK(x.where == path + ": x");
}

TEST_CASE("sequences are read from text and .npy, with or without a batch") {
  const TempFolder folder;
  const auto text = read_sequences<double>(
      folder.write("x.txt", "the 1 2\ncat 3 4\n\na 5 6\ndog 7 8\n"), false);
  CHECK(text.values.shape() == Shape{2, 2, 2});
  CHECK(text.labels == Labels{"the", "cat", "a", "dog"});
  CHECK(text.form == "text");
  const auto binary = read_sequences<double>(
      folder.write("x.npy", npy("<f4", "(1, 2, 2)", bytes_of<float>({1, 2, 3, 0.5f}))), false);
  CHECK(binary.values.shape() == Shape{1, 2, 2});
  CHECK(numbers(binary.values) == std::vector<double>{1, 2, 3, 0.5});
  CHECK(binary.form == "npy f32");
  CHECK(binary.labels.empty());
}

TEST_CASE("labels must be as many as there are tokens") {
  const TempFolder folder;
  const std::string path =
      folder.write("x.json", "{\"tokens\": [\"a\"], \"x\": [[1], [2]], \"key\": [[1], [2]]}");
  CHECK(error_of([&] { read_sequences<float>(path, false); }) ==
        path + ": x has 2 tokens, but \"tokens\" has 1 labels");
  CHECK(read_sequences<float>(path + ":key", false).labels.empty());
  const auto shared = read_sequences<float>(
      folder.write("b.json", "{\"tokens\": [\"a\"], \"x\": [[[1]], [[2]]]}"), false);
  CHECK(shared.labels == Labels{"a"});
}

TEST_CASE("shapes that are no sequences are refused") {
  const TempFolder folder;
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.write("x.json", text);
    return error_of([&] { read_sequences<float>(path, false); }).substr(path.size());
  };
  CHECK(refusal("[1, 2]") == " is [2], expected [n, d_model] or [batch, n, d_model]");
  const std::string ids = folder.write("ids.npy", npy("<i8", "(1,)", std::string(8, '\0')));
  CHECK(error_of([&] { read_sequences<float>(ids, false); }) ==
        ids +
            " is [1], expected [n, d_model] or [batch, n, d_model]: vectors, not the numbers "
            "of tokens");
  CHECK(refusal("[[[[1]]]]") ==
        " is [1, 1, 1, 1], expected [n, d_model] or [batch, n, d_model]");
  CHECK(refusal("[[], []]") == " is [2, 0]: no tokens to attend to");
  CHECK(refusal("{\"y\": [[1]], \"z\": [[1]]}") ==
        ": no tensor called x, the file holds y, z; name one: " + folder / "x.json" + ":NAME");
  CHECK(refusal("{\"d\": 1}") == ": no tensor called x, the file holds nothing");
}

TEST_CASE("what is not finite is refused by its index, and let through on demand") {
  const TempFolder folder;
  const std::string path = folder.write("x.csv", "1,2\n3,nan\n");
  CHECK(error_of([&] { read_sequences<float>(path, false); }) ==
        path + "[1, 1] is nan; --allow-nonfinite lets it through");
  CHECK(std::isnan(read_sequences<float>(path, true).values.matrix()(1, 1)));
}

TEST_CASE("masks of every form agree") {
  const TempFolder folder;
  const MaskAxes axes{1, 2, 3, 3};
  const std::vector<std::string> paths = {
      folder.write("bool.npy", npy("|b1", "(3,)", std::string("\0\0\1", 3))),
      folder.write("u8.npy", npy("|u1", "(3,)", std::string("\0\0\1", 3))),
      folder.write("i64.npy", npy("<i8", "(3,)", bytes_of<std::int64_t>({0, 0, 1}))),
      folder.write("f4.npy", npy("<f4", "(3,)", bytes_of<float>({0, 0, 1}))),
      folder.write("mask.json", "[false, false, true]"),
      folder.write("01.json", "[0, 0, 1]"),
      folder.write("mask.csv", "0,0,1\n"),
      folder.write("named.json", "{\"mask\": [0, 0, 1], \"x\": [1]}")};
  for (const std::string& path : paths) {
    CAPTURE(path);
    const auto drop = read_drop_mask(path, false, axes);
    CHECK(drop.values.shape() == Shape{1, 1, 1, 3});
    CHECK(numbers(drop.values) == std::vector<double>{0, 0, 1});
    CHECK(numbers(read_drop_mask(path, true, axes).values) == std::vector<double>{1, 1, 0});
  }
}

TEST_CASE("a 0/1 mask holds nothing else") {
  const TempFolder folder;
  const MaskAxes axes{1, 1, 2, 2};
  const auto refusal = [&](const std::string& path) {
    return error_of([&] { read_drop_mask(path, true, axes); }).substr(path.size());
  };
  CHECK(refusal(folder.write("m.csv", "0,1\n1,0.5\n")) ==
        "[1, 1] is 0.5, expected 0 or 1 (--add-mask takes other numbers)");
  // Too near 0 and 1 for a float to tell.
  CHECK(refusal(folder.write("m.csv", "0,1e-60\n")) ==
        "[1] is 1e-60, expected 0 or 1 (--add-mask takes other numbers)");
  CHECK(refusal(folder.write("m.csv", "0,nan\n")) ==
        "[1] is nan, expected 0 or 1 (--add-mask takes other numbers)");
  CHECK(refusal(folder.write("m.npy", npy("<i8", "(2,)", bytes_of<std::int64_t>({0, -1})))) ==
        "[1] is -1, expected 0 or 1 (--add-mask takes other numbers)");
  CHECK(refusal(folder.write("m.csv", "0,1,0\n")).find("[3]") != std::string::npos);
}

TEST_CASE("additive masks may hide with -inf and hold no other odd number") {
  const TempFolder folder;
  const MaskAxes axes{1, 1, 2, 2};
  std::string doubtful = "before";
  const auto mask =
      read_add_mask<float>(folder.write("m.txt", "0 -inf\n-1.5 0\n"), axes, doubtful);
  CHECK(mask.values.shape() == Shape{1, 1, 2, 2});
  CHECK(mask.values.data()[1] == -INFINITY);
  CHECK(doubtful.empty());
  // The least double, with which some libraries hide, is -Inf to a float.
  CHECK(read_add_mask<float>(folder.write("l.txt", "-1.7976931348623157e308 0\n"), axes,
                             doubtful)
            .values.data()[0] == -INFINITY);
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.write("m.txt", text);
    return error_of([&] { read_add_mask<float>(path, axes, doubtful); }).substr(path.size());
  };
  CHECK(refusal("0 nan\n0 0\n") == "[0, 1] is nan, expected a finite number or -inf");
  CHECK(refusal("0 0\ninf 0\n") == "[1, 0] is inf, expected a finite number or -inf");
}

TEST_CASE("an additive mask that can hide nothing is doubted") {
  const TempFolder folder;
  const MaskAxes axes{1, 1, 2, 2};
  const auto doubt = [&](const std::string& text) {
    std::string doubtful;
    const std::string path = folder.write("m.txt", text);
    read_add_mask<double>(path, axes, doubtful);
    return doubtful.empty() ? "" : doubtful.substr(path.size());
  };
  CHECK(doubt("0 1\n1 1\n").find(": it holds only 0 and 1") == 0);
  CHECK(doubt("0 0.0009\n-0.001 0\n").find(": all its numbers are within 0.001 of 0") == 0);
  CHECK(doubt("0 0.0011\n").empty());
  CHECK(doubt("0 1\n1 -1\n").empty());
  CHECK(doubt("0 -inf\n").empty());
}
