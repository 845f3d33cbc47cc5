#include "files/npy.h"

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"

using namespace mha;

namespace {

Archive open(const std::string& file) { return open_npy(Bytes::own(file), "x.npy"); }
std::string open_error(const std::string& file) {
  return error_of([&] { open(file); });
}
std::string header_error(const std::string& literal) {
  return open_error(npy_with_header(literal, ""));
}
std::string literal(const std::string& descr, const std::string& order,
                    const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}";
}
std::string read_error(const std::string& file) {
  return error_of([&] { numbers(open(file), ""); });
}

}  // namespace

TEST_CASE("every number type of numpy is read exactly") {
  const auto values = [](const std::string& descr, const std::string& data) {
    return numbers(open(make_npy(descr, false, "(2,)", data)), "");
  };
  using Numbers = std::vector<double>;
  CHECK(values("|b1", {1, 0}) == Numbers{1, 0});
  CHECK(values("|u1", {'\xFF', 1}) == Numbers{255, 1});
  CHECK(values("|i1", {'\xFF', 1}) == Numbers{-1, 1});
  CHECK(values("<u2", "\xFF\xFF\x01\x02") == Numbers{65535, 513});
  CHECK(values("<i2", bytes_of<std::int16_t>({-2, 300})) == Numbers{-2, 300});
  CHECK(values("<u4", bytes_of<std::uint32_t>({4294967295u, 7})) == Numbers{4294967295.0, 7});
  CHECK(values("<i4", bytes_of<std::int32_t>({-70000, 7})) == Numbers{-70000, 7});
  CHECK(values("<u8", bytes_of<std::uint64_t>({1ull << 63, 7})) == Numbers{0x1p63, 7});
  CHECK(values("<i8", bytes_of<std::int64_t>({-(1ll << 40), 7})) == Numbers{-0x1p40, 7});
  CHECK(values("<f4", floats({0.1f, -0.0f})) == Numbers{0.1f, -0.0});
  CHECK(values("<f8", bytes_of<double>({0.1, 1e300})) == Numbers{0.1, 1e300});
  // Field case 10: 1.5, the smallest subnormal, the largest number.
  CHECK(values("<f2", bytes_of<std::uint16_t>({0x3E00, 0x0001})) == Numbers{1.5, 0x1p-24});
  CHECK(values("<f2", bytes_of<std::uint16_t>({0x7BFF, 0x8000})) == Numbers{65504, -0.0});
  CHECK(values("<V2", bytes_of<std::uint16_t>({0x3FC0, 0xBE80})) == Numbers{1.5, -0.25});
  CHECK(values("|V2", bytes_of<std::uint16_t>({0x3FC0, 0xBE80})) == Numbers{1.5, -0.25});
  CHECK(values("bfloat16", bytes_of<std::uint16_t>({0x3FC0, 0xBE80})) == Numbers{1.5, -0.25});
}

TEST_CASE("a byte order is a mark in front of the type") {
  const std::string big = std::string("\x3f\xc0\x00\x00", 4);
  const std::string little_endian = floats({1.5f});
  CHECK(numbers(open(make_npy(">f4", false, "(1,)", big)), "")[0] == 1.5);
  for (const char* descr : {"<f4", "=f4", "f4", "|f4"}) {
    CHECK(numbers(open(make_npy(descr, false, "(1,)", little_endian)), "")[0] == 1.5);
  }
}

TEST_CASE("column-major arrays come out row-major, whatever their rank") {
  // Element (i, j, k) of [2, 3, 2] is 100 i + 10 j + k; the first axis runs fastest.
  std::vector<float> column_major;
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) {
        column_major.push_back(static_cast<float>(100 * i + 10 * j + k));
      }
    }
  }
  const Archive archive = open(make_npy("<f4", true, "(2, 3, 2)", floats(column_major)));
  CHECK(numbers(archive, "") ==
        std::vector<double>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  // Wide enough for several blocks of columns and a part of one.
  std::vector<float> wide(3 * 37);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(i);
  const std::vector<double> rows =
      numbers(open(make_npy("<f4", true, "(3, 37)", floats(wide))), "");
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t col = 0; col < 37; ++col) {
      CHECK(rows[row * 37 + col] == static_cast<double>(col * 3 + row));
    }
  }
  const Archive vector = open(make_npy("<f4", true, "(3,)", floats({1, 2, 3})));
  CHECK(numbers(vector, "") == std::vector<double>{1, 2, 3});
}

TEST_CASE("the header is a Python literal, with its keys in any order") {
  const std::string data = floats({1, 2, 3, 4});
  const auto shape_of = [&](const std::string& text, int major = 1) {
    return open(npy_with_header(text, data, major)).members.at(0).shape;
  };
  CHECK(shape_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }  \n") ==
        Shape{2, 2});
  CHECK(shape_of("{'shape': (4,), 'descr': '<f4', 'fortran_order': False}") == Shape{4});
  CHECK(shape_of("{\"fortran_order\":True,\"shape\":(4L,),\"descr\":\"<f4\"}") == Shape{4});
  CHECK(shape_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 4L)}", 2) ==
        Shape{1, 4});
  CHECK(shape_of(" { 'descr' :'<f4' , 'fortran_order': False, 'shape': ( 2 , 2 , ) } ", 3) ==
        Shape{2, 2});
}

TEST_CASE("scalars and empty arrays are arrays") {
  const Archive scalar = open(make_npy("<f4", false, "()", floats({2.5f})));
  CHECK(scalar.members.at(0).shape.empty());
  CHECK(numbers(scalar, "") == std::vector<double>{2.5});
  const Archive empty = open(make_npy("<f4", false, "(0, 4)", ""));
  CHECK(empty.members.at(0).shape == Shape{0, 4});
  CHECK(numbers(empty, "").empty());
}

TEST_CASE("a header may be as long as the file") {
  const std::size_t padding = GENERATE(0, 127, 255, 65535, 65536, 1000000);
  std::string text = literal("'<f4'", "False", "(2,)") + std::string(padding, ' ') + "\n";
  const int major = text.size() > 65535 ? 2 : 1;
  const Archive archive = open(npy_with_header(text, floats({1, 2}), major));
  CHECK(numbers(archive, "") == std::vector<double>{1, 2});
}

TEST_CASE("a .npy file that is cut short says so") {
  const std::string whole = make_npy("<f4", false, "(2, 2)", floats({1, 2, 3, 4}));
  CHECK(open_error("") == "x.npy: 0 bytes, too few for the header of a .npy array");
  CHECK(open_error(whole.substr(0, 9)) ==
        "x.npy: 9 bytes, too few for the header of a .npy array");
  CHECK(open_error(whole.substr(0, 20)) ==
        "x.npy: a header of 60 bytes, the file has 10 left");
  CHECK(open_error(whole.substr(0, whole.size() - 1)) ==
        "x.npy: shape [2, 2] of '<f4' needs 16 bytes, found 15");
  CHECK(open_error(whole + '\0') == "x.npy: shape [2, 2] of '<f4' needs 16 bytes, found 17");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(open_error(whole.substr(0, length)) != "no error");
  }
}

TEST_CASE("a length beyond the file is not believed") {
  std::string file = npy_with_header(literal("'<f4'", "False", "(1,)"), floats({1}), 2);
  file.replace(8, 4, little(0xFFFFFFF0, 4));
  CHECK(open_error(file) == "x.npy: a header of 4294967280 bytes, the file has 59 left");
}

TEST_CASE("magic and version are checked") {
  CHECK(open_error("not numpy at all") ==
        "x.npy: is no .npy array, it does not begin with \\x93NUMPY");
  std::string file = make_npy("<f4", false, "()", floats({1}));
  file[6] = 4;
  CHECK(open_error(file) == "x.npy: .npy version 4.0, expected 1.0, 2.0 or 3.0");
  file[6] = 1;
  file[7] = 1;
  CHECK(open_error(file) == "x.npy: .npy version 1.1, expected 1.0, 2.0 or 3.0");
}

TEST_CASE("a shape that cannot be is refused") {
  const auto error = [](const std::string& shape) {
    return header_error(literal("'<f4'", "False", shape));
  };
  CHECK(error("(-1,)") ==
        "x.npy: header, byte 61: expected an axis that is a whole number, not negative, "
        "found '-'");
  CHECK(error("(4)") ==
        "x.npy: header, byte 62: (4) is a number, a shape of one axis is (4,)");
  CHECK(error("4") == "x.npy: header, byte 60: expected a tuple as shape, found '4'");
  CHECK(error("[4]") == "x.npy: header, byte 60: expected a tuple as shape, found '['");
  CHECK(error("(1.5,)") == "x.npy: header, byte 62: expected ',' or ')', found '.'");
  CHECK(error("(,)") ==
        "x.npy: header, byte 61: expected an axis that is a whole number, not negative, "
        "found ','");
  CHECK(error("(2 2)") == "x.npy: header, byte 63: expected ',' or ')', found '2'");
  CHECK(error("(99999999999999999999,)") ==
        "x.npy: header, byte 61: expected an axis below 2^64, found '9'");
  CHECK(error("(4611686018427387904, 8)") ==
        "x.npy: shape [4611686018427387904, 8] is too large");
  CHECK(error("(4611686018427387904,)") ==
        "x.npy: shape [4611686018427387904] of '<f4' needs more than 2^64 bytes, found 0");
  CHECK(error("(1000000000000,)") ==
        "x.npy: shape [1000000000000] of '<f4' needs 4000000000000 bytes, found 0");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  CHECK(error(many + ")") == "x.npy: header, byte 189: a shape of more than 64 axes");
}

TEST_CASE("a header with a key too few, too many or twice is refused") {
  CHECK(header_error("{'descr': '<f4', 'fortran_order': False}") ==
        "x.npy: the header has no key 'shape'");
  CHECK(header_error("{'descr': '<f4', 'shape': ()}") ==
        "x.npy: the header has no key 'fortran_order'");
  CHECK(header_error("{}") == "x.npy: the header has no key 'descr'");
  CHECK(header_error("{'descr': '<f4', 'descr': '<f4'}") ==
        "x.npy: header, byte 27: key 'descr' stands there twice");
  CHECK(
      header_error("{'colour': 1}") ==
      "x.npy: header, byte 11: unknown key 'colour', expected descr, fortran_order and shape");
}

TEST_CASE("a header that is no dictionary says where it stops being one") {
  CHECK(header_error("") == "x.npy: header, byte 10: expected '{', found the end");
  CHECK(header_error("{'descr': '<f4") ==
        "x.npy: header, byte 20: this quote is never closed");
  CHECK(header_error("{'descr': '<f4\\'}") ==
        "x.npy: header, byte 20: this quote is never closed");
  CHECK(header_error("{'descr' '<f4'}") == "x.npy: header, byte 19: expected ':', found '''");
  CHECK(header_error("{descr: '<f4'}") ==
        "x.npy: header, byte 11: expected a key in quotes, found 'd'");
  CHECK(header_error("{'descr': '<f4' 'shape': ()}") ==
        "x.npy: header, byte 26: expected ',' or '}', found '''");
  CHECK(header_error("{'fortran_order': 1}") ==
        "x.npy: header, byte 28: expected True or False, found '1'");
  CHECK(header_error(literal("'<f4'", "False", "()") + "x") ==
        "x.npy: header, byte 63: expected nothing after '}', found 'x'");
  CHECK(header_error("{'descr': [('a', '<f4')") ==
        "x.npy: header, byte 33: expected ']' of descr, found the end");
  CHECK(header_error("{'descr': \x01}") ==
        "x.npy: header, byte 20: expected a dtype in quotes, found '\\x01'");
}

TEST_CASE("a descr that is no dtype is refused with the file") {
  for (const std::string descr :
       {"<ixy", "", "<", "<f3", "<i16", "f4x", "<c4", "float32", "<U-1", "<U4x", "O3"}) {
    CHECK(header_error(literal("'" + descr + "'", "False", "()")) ==
          "x.npy: descr '" + descr + "' is no dtype of numpy");
  }
  CHECK(header_error(literal("'<U9999999999999999999'", "False", "()")) ==
        "x.npy: descr '<U9999999999999999999' is too large");
}

TEST_CASE("what is no number is refused by its dtype when it is read") {
  CHECK(read_error(make_npy("|O", false, "(1,)", "\x80\x04N.")) ==
        "x.npy: dtype |O is Python objects, a pickle, which is never run; save numbers");
  CHECK(
      read_error(npy_with_header(literal("[('a', '<f4'), ('b]', '<i4')]", "False", "(1,)"),
                                 std::string(8, '\0'))) ==
      "x.npy: dtype [('a', '<f4'), ('b]', '<i4')] is not supported, expected floats of 16, 32 "
      "or 64 bits, integers or booleans");
  CHECK(read_error(make_npy("<c8", false, "(1,)", std::string(8, '\0'))) ==
        "x.npy: dtype <c8 is not supported, expected floats of 16, 32 or 64 bits, integers or "
        "booleans");
  CHECK(
      read_error(make_npy("<M8[ns]", false, "(1,)", std::string(8, '\0'))) ==
      "x.npy: dtype <M8[ns] is not supported, expected floats of 16, 32 or 64 bits, integers "
      "or booleans");
  CHECK(read_error(make_npy("<U2", false, "(1,)", std::string(8, '\0'))) ==
        "x.npy: dtype <U2 is text, expected numbers");
  // Their size is known all the same.
  CHECK(open_error(make_npy("<c8", false, "(1,)", "1234")) ==
        "x.npy: shape [1] of '<c8' needs 8 bytes, found 4");
}

TEST_CASE("the header we write is aligned and read back") {
  const Shape shape = GENERATE(Shape{}, Shape{3}, Shape{2, 0, 5}, Shape{1000000000, 1});
  const DType dtype =
      GENERATE(DType::f32, DType::f64, DType::boolean, DType::bf16, DType::i64);
  const std::string header = npy_header(dtype, shape);
  CHECK(header.size() % 64 == 0);
  CHECK(header.ends_with('\n'));
  const std::size_t size = header.size() + element_count(shape) * size_of(dtype);
  const NpyHeader read = read_npy_header(
      [&](std::size_t length) { return Bytes::own(header.substr(0, length)); }, size, "x.npy");
  CHECK(read.dtype == dtype);
  CHECK(read.shape == shape);
  CHECK_FALSE(read.fortran_order);
  CHECK(read.data_offset == header.size());
}

TEST_CASE("the header we write is the one numpy writes") {
  CHECK(npy_header(DType::f32, {3, 4}).substr(10) ==
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + std::string(58, ' ') +
            "\n");
  CHECK(npy_header(DType::boolean, {7})
            .find("'|b1', 'fortran_order': False, 'shape': (7,), }") != std::string::npos);
}

TEST_CASE("numpy's own files hold the matrix they were made from") {
  const std::string name =
      GENERATE("plain", "fortran_big_endian", "half", "bfloat16", "version2", "version3");
  const std::string path = MHA_SOURCE_DIR "/tests/files/data/" + name + ".npy";
  const Archive archive = open_npy(Bytes::open(path), path);
  std::vector<double> expected;
  for (int i = 0; i < 12; ++i) expected.push_back(i / 8.0);
  CHECK(archive.members.at(0).shape == Shape{3, 4});
  CHECK(numbers(archive, "") == expected);
}

TEST_CASE("numpy's own objects and fields are refused") {
  for (const char* name : {"objects", "fields"}) {
    const std::string path = MHA_SOURCE_DIR "/tests/files/data/" + std::string(name) + ".npy";
    const Archive archive = open_npy(Bytes::open(path), path);
    CHECK_THROWS_AS(numbers(archive, ""), Error);
  }
}
