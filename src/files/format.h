#pragma once

#include <optional>
#include <string>

#include "files/whole_file.h"
#include "tensor/tensor.h"

namespace mha {

// The forms a tensor is written in.
enum class Format { npy, npz, json, csv, text };

// "npy" … "text"; nothing for another word.
std::optional<Format> format_named(std::string_view name);

// From the suffix: .npy .npz .json .csv .txt (and .tsv, .text: text). Throws
// Error that lists them for another suffix.
Format format_of_path(const std::string& path);

// Writes one tensor. Numbers in json, csv and text read back as the same bits;
// in json what is not finite is null. csv and text: a row a line, a blank line
// between the matrices of the leading axes. npz: one member of that name.
template <typename T>
void write_tensor(WholeFile& file, Format format, const Tensor<T>& tensor,
                  const std::string& name);

// The bare nested array of JSON, a matrix row a line, with nothing behind it.
template <typename T>
void write_json_array(WholeFile& file, const Tensor<T>& tensor);

// The shortest text that reads back as the same bits; "nan", "inf", "-inf".
std::string format_number(float value);
std::string format_number(double value);

}  // namespace mha
