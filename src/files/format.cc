#include "files/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "files/names.h"
#include "files/npy.h"
#include "files/npz.h"

namespace mha {
namespace {

template <typename T>
void write_rows(WholeFile& file, const Tensor<T>& tensor, std::string_view between) {
  if (tensor.empty()) return;
  for (std::size_t m = 0; m < tensor.matrix_count(); ++m) {
    const ConstMatrixView<T> matrix = tensor.matrix(m);
    if (m > 0) file.write("\n");
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      for (std::size_t j = 0; j < matrix.cols; ++j) {
        if (j > 0) file.write(between);
        file.write(format_number(matrix(i, j)));
      }
      file.write("\n");
    }
  }
}

// The elements of one index of the axes before `axis`; moves `next` past them.
template <typename T>
void write_nested(WholeFile& file, const Shape& shape, std::size_t axis, const T*& next) {
  if (axis == shape.size()) {
    file.write(std::isfinite(*next) ? format_number(*next) : "null");
    ++next;
    return;
  }
  // A matrix row a line.
  const std::string_view between = axis + 1 < shape.size() ? ",\n" : ", ";
  file.write("[");
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) file.write(between);
    write_nested(file, shape, axis + 1, next);
  }
  file.write("]");
}

// The shortest text whose double, narrowed, is `value` again.
template <typename T>
std::string shortest(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  if (std::is_same_v<T, double>) return {text.begin(), end};
  // Readers take the text for a double first. That rounds twice, which once in
  // a great while ends at a neighbour; nine digits never do.
  double read = 0.0;
  std::from_chars(text.begin(), end, read);
  if (static_cast<T>(read) == value) return {text.begin(), end};
  return {text.begin(),
          std::to_chars(text.begin(), text.end(), value, std::chars_format::general, 9).ptr};
}

template <typename T>
std::string number_text(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // JSON readers take "-0" for an integer, which has no sign to keep.
  if (value == 0 && std::signbit(value)) return "-0.0";
  return shortest(value);
}

}  // namespace

std::optional<Format> format_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Format>, 5> kNames = {{
      {"npy", Format::npy},
      {"npz", Format::npz},
      {"json", Format::json},
      {"csv", Format::csv},
      {"text", Format::text},
  }};
  for (const auto& [known, format] : kNames) {
    if (known == name) return format;
  }
  return std::nullopt;
}

Format format_of_path(const std::string& path) {
  std::string suffix = suffix_of(path);
  if (suffix == "txt" || suffix == "tsv") suffix = "text";
  if (const auto format = format_named(suffix)) return *format;
  throw Error(printable(path) + ": the suffix " +
              (suffix.empty() ? "is missing" : "." + printable(suffix) + " is unknown") +
              ", expected .npy, .npz, .json, .csv or .txt (or say --format)");
}

template <typename T>
void write_tensor(WholeFile& file, Format format, const Tensor<T>& tensor,
                  const std::string& name) {
  switch (format) {
    case Format::npy:
      file.write(npy_header(dtype_of<T>(), tensor.shape()));
      file.write(std::as_bytes(tensor.values()));
      return;
    case Format::npz: {
      ZipWriter zip(file);
      add_npy(zip, name, tensor);
      zip.finish();
      return;
    }
    case Format::json: {
      write_json_array(file, tensor);
      file.write("\n");
      return;
    }
    case Format::csv: write_rows(file, tensor, ","); return;
    case Format::text: write_rows(file, tensor, " "); return;
  }
}

template <typename T>
void write_json_array(WholeFile& file, const Tensor<T>& tensor) {
  const T* next = tensor.data();
  write_nested(file, tensor.shape(), 0, next);
}

template void write_json_array(WholeFile&, const Tensor<float>&);
template void write_json_array(WholeFile&, const Tensor<double>&);

std::string format_number(float value) { return number_text(value); }
std::string format_number(double value) { return number_text(value); }

template void write_tensor(WholeFile&, Format, const Tensor<float>&, const std::string&);
template void write_tensor(WholeFile&, Format, const Tensor<double>&, const std::string&);

}  // namespace mha
