#include "files/format.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "catch.h"
#include "files/archive.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

// A float by its bits.
float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Numbers that are hard to print, of both signs.
template <typename T>
std::vector<T> hard_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0, 1, T(0.1), T(1) / 3, Limits::min(), Limits::denorm_min(),
                            Limits::max(), Limits::epsilon(), T(1e22), T(9007199254740992.0),
                            // Its shortest text, 7.038531e-26, is a double that lies half way
                            // between two floats and would narrow to the other one.
                            T(float_of(0x15ae43fd))};
  // A walk over all magnitudes.
  T walk = Limits::denorm_min();
  while (walk < Limits::max() / 7) numbers.push_back(walk *= T(6.54321));
  const std::size_t positive = numbers.size();
  for (std::size_t i = 0; i < positive; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

template <typename T>
Tensor<T> tensor(Shape shape, const std::vector<T>& values) {
  Tensor<T> result(std::move(shape));
  REQUIRE(result.size() == values.size());
  std::copy(values.begin(), values.end(), result.data());
  return result;
}

template <typename T>
std::string written(const TempFolder& folder, const std::string& name,
                    const Tensor<T>& values) {
  const std::string path = folder / name;
  WholeFile file(path);
  write_tensor(file, format_of_path(path), values, "y");
  file.commit();
  return path;
}

template <typename T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace

TEMPLATE_TEST_CASE("every form reads back as the same bits", "", float, double) {
  const TempFolder folder;
  const std::vector<TestType> numbers = hard_numbers<TestType>();
  const Tensor<TestType> y = tensor<TestType>({2, numbers.size() / 2}, numbers);
  for (const char* name : {"y.npy", "y.npz", "y.json", "y.csv", "y.txt"}) {
    CAPTURE(name);
    const Archive archive = open_archive(written(folder, name, y));
    REQUIRE(archive.members.size() == 1);
    CHECK(archive.members[0].name == (name == std::string("y.npz") ? "y" : ""));
    CHECK(archive.members[0].shape == y.shape());
    CHECK(same_bits(read_tensor<TestType>(archive, archive.members[0]), y));
  }
}

TEST_CASE("a batch keeps its shape in every form") {
  const TempFolder folder;
  const Tensor<float> y = tensor<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5f});
  for (const char* name : {"y.npy", "y.npz", "y.json", "y.csv", "y.txt"}) {
    CAPTURE(name);
    const Archive archive = open_archive(written(folder, name, y));
    CHECK(archive.members[0].shape == y.shape());
    CHECK(same_bits(read_tensor<float>(archive, archive.members[0]), y));
  }
}

TEST_CASE("text forms look as people write them") {
  const TempFolder folder;
  const Tensor<float> y =
      tensor<float>({2, 1, 2}, {0.1f, -2, INFINITY, std::numeric_limits<float>::quiet_NaN()});
  CHECK(read_file(written(folder, "y.csv", y)) == "0.1,-2\n\ninf,nan\n");
  CHECK(read_file(written(folder, "y.txt", y)) == "0.1 -2\n\ninf nan\n");
  CHECK(read_file(written(folder, "y.json", y)) == "[[[0.1, -2]],\n[[null, null]]]\n");
  const Tensor<double> row = tensor<double>({3}, {1, 2, 3});
  CHECK(read_file(written(folder, "row.csv", row)) == "1,2,3\n");
  CHECK(read_file(written(folder, "row.json", row)) == "[1, 2, 3]\n");
  CHECK(read_file(written(folder, "none.json", Tensor<float>({0, 4}))) == "[]\n");
  CHECK(read_file(written(folder, "none.csv", Tensor<float>({0, 4}))).empty());
}

TEST_CASE("what is larger than the buffer is written whole") {
  const TempFolder folder;
  Tensor<double> y({300, 200});
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = std::sin(static_cast<double>(i));
  for (const char* name : {"y.json", "y.csv"}) {
    const Archive archive = open_archive(written(folder, name, y));
    CHECK(same_bits(read_tensor<double>(archive, archive.members[0]), y));
  }
}

TEST_CASE("numbers print as short as they can") {
  CHECK(format_number(0.1f) == "0.1");
  CHECK(format_number(0.1) == "0.1");
  CHECK(format_number(static_cast<double>(0.1f)) == "0.10000000149011612");
  CHECK(format_number(1.0f) == "1");
  CHECK(format_number(-0.0f) == "-0.0");
  CHECK(format_number(0.0) == "0");
  CHECK(format_number(1e22) == "1e+22");
  CHECK(format_number(-std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(format_number(-INFINITY) == "-inf");
  CHECK(format_number(float_of(0x15ae43fd)) == "7.03853069e-26");
}

TEST_CASE("the suffix decides the form") {
  CHECK(format_of_path("a.b/y.npy") == Format::npy);
  CHECK(format_of_path("y.NPZ") == Format::npz);
  CHECK(format_of_path("y.json") == Format::json);
  CHECK(format_of_path("y.x.csv") == Format::csv);
  CHECK(format_of_path("y.txt") == Format::text);
  CHECK(format_of_path("y.tsv") == Format::text);
  CHECK(format_of_path("y.text") == Format::text);
  CHECK(error_of([] { format_of_path("dir.npy/y"); }) ==
        "dir.npy/y: the suffix is missing, expected .npy, .npz, .json, .csv or .txt (or say "
        "--format)");
  CHECK(error_of([] { format_of_path("y.bin"); }) ==
        "y.bin: the suffix .bin is unknown, expected .npy, .npz, .json, .csv or .txt (or say "
        "--format)");
  CHECK(format_named("text") == Format::text);
  CHECK_FALSE(format_named("txt"));
  CHECK_FALSE(format_named(""));
}
