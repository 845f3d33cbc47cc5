#include "files/raw.h"

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

std::string layout_error(const std::string& layout) {
  return error_of([&] { open_raw("/dev/null", layout); });
}
std::vector<float> counting(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

}  // namespace

TEST_CASE("raw tensors lie one after another, W_Q whole and first") {
  const TempFolder folder;
  // 3 x [2, 4, 2] and [2, 2, 4]: 16 numbers each.
  const std::string path = folder.write("w.raw", floats(counting(64)));
  const Archive archive = open_raw(path, "d_model=4,n_heads=2");
  REQUIRE(archive.members.size() == 4);
  CHECK(archive.container == "raw");
  CHECK(archive.at("W_Q").shape == Shape{2, 4, 2});
  CHECK(archive.at("W_O").shape == Shape{2, 2, 4});
  CHECK(numbers(archive, "W_Q")[0] == 0);
  CHECK(numbers(archive, "W_K")[0] == 16);
  CHECK(numbers(archive, "W_V")[15] == 47);
  CHECK(numbers(archive, "W_O")[0] == 48);
}

TEST_CASE("raw biases come last, widths and dtypes are stated") {
  const TempFolder folder;
  // W: 4 x 2*3*5 = 120; b_Q, b_K, b_V: 2*5 each; b_O: 3.
  std::vector<std::uint16_t> ones(153, 0x3F80);
  ones[150] = 0x4000;
  const std::string path = folder.write("w.raw", bytes_of(ones));
  const Archive archive = open_raw(path, "d_model=3,n_heads=2,d_head=5,dtype=bf16,bias");
  REQUIRE(archive.members.size() == 8);
  CHECK(archive.at("W_O").shape == Shape{2, 5, 3});
  CHECK(archive.at("b_V").shape == Shape{2, 5});
  CHECK(archive.at("b_Q").dtype_name == "bf16");
  CHECK(numbers(archive, "b_O") == std::vector<double>{2, 1, 1});
  CHECK(open_raw(folder.write("d", std::string(32, '\0')), "d_model=1,n_heads=1,dtype=f64")
            .at("W_Q")
            .dtype == DType::f64);
}

TEST_CASE("a raw file's size must match to the byte") {
  const TempFolder folder;
  const std::string path = folder.write("w.raw", floats(counting(63)));
  CHECK(error_of([&] { open_raw(path, "d_model=4,n_heads=2"); }) ==
        path + ": has 252 bytes, 'd_model=4,n_heads=2' makes 256");
  CHECK(error_of([&] { open_raw(path, "d_model=4,n_heads=2,bias"); }) ==
        path + ": has 252 bytes, 'd_model=4,n_heads=2,bias' makes 320");
}

TEST_CASE("a layout that cannot be is refused with what is wrong in it") {
  CHECK(layout_error("") == "raw layout '': d_model is missing");
  CHECK(layout_error("d_model=4") == "raw layout 'd_model=4': n_heads is missing");
  CHECK(layout_error("d_model=4,n_heads=3") ==
        "raw layout 'd_model=4,n_heads=3': d_model 4 is not divisible by n_heads 3; give "
        "d_head");
  CHECK(layout_error("d_modle=4") ==
        "raw layout 'd_modle=4': unknown key 'd_modle', did you mean d_model? (there are "
        "d_model, n_heads, d_head, dtype, bias)");
  CHECK(layout_error("d_model=0,n_heads=1") ==
        "raw layout 'd_model=0,n_heads=1': d_model is '0', expected a whole number from 1");
  CHECK(layout_error("d_model=-4,n_heads=1") ==
        "raw layout 'd_model=-4,n_heads=1': d_model is '-4', expected a whole number from 1");
  CHECK(layout_error("d_model=4x,n_heads=1") ==
        "raw layout 'd_model=4x,n_heads=1': d_model is '4x', expected a whole number from 1");
  CHECK(layout_error("d_model=4,d_model=4") ==
        "raw layout 'd_model=4,d_model=4': d_model stands there twice");
  CHECK(layout_error("d_model=4,n_heads=1,dtype=i8") ==
        "raw layout 'd_model=4,n_heads=1,dtype=i8': dtype is 'i8', expected f32, f64, f16 or "
        "bf16");
  CHECK(layout_error("bias=1") ==
        "raw layout 'bias=1': bias takes no value, it is there or not");
  CHECK(
      layout_error("d_model=4,,n_heads=1") ==
      "raw layout 'd_model=4,,n_heads=1': unknown key '' (there are d_model, n_heads, d_head, "
      "dtype, bias)");
  CHECK(layout_error("d_model=9999999999999,n_heads=9999999999,d_head=1") ==
        "raw layout 'd_model=9999999999999,n_heads=9999999999,d_head=1': W_Q: shape "
        "[9999999999, 9999999999999, 1] is too large");
  CHECK(layout_error("d_model=2000000000000000000,n_heads=1,d_head=1") ==
        "raw layout 'd_model=2000000000000000000,n_heads=1,d_head=1': the tensors are too "
        "large");
}
