#include <cassert>
#include <string_view>

#include "base/memory.h"
#include "files/json.h"
#include "files/safetensors.h"

namespace mha {
namespace {

std::string_view code_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::f64: return "F64";
    default: assert(false && "a dtype that is written"); return "";
  }
}

std::string list_of_numbers(const Shape& numbers) {
  std::string text = "[";
  for (const std::size_t number : numbers) {
    text += (text.size() > 1 ? "," : "") + std::to_string(number);
  }
  return text + "]";
}

}  // namespace

std::string safetensors_header(const std::vector<SafetensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":";
    char before = '{';
    for (const auto& [name, text] : metadata) {
      json += before + json_quoted(name) + ":" + json_quoted(text);
      before = ',';
    }
    json += "}";
  }
  std::size_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::size_t end =
        offset + element_count(entry.shape, entry.name) * size_of(entry.dtype);
    json += (json.size() > 1 ? "," : "") + json_quoted(entry.name) + ":{\"dtype\":\"" +
            std::string(code_of(entry.dtype)) +
            "\",\"shape\":" + list_of_numbers(entry.shape) +
            ",\"data_offsets\":" + list_of_numbers({offset, end}) + "}";
    offset = end;
  }
  json += "}";
  constexpr std::size_t kLengthField = 8;
  json.append((kLengthField - json.size() % kLengthField) % kLengthField, ' ');
  std::string header;
  for (std::size_t byte = 0; byte < kLengthField; ++byte) {
    header += static_cast<char>(json.size() >> (8 * byte) & 0xFFU);
  }
  return header + json;
}

}  // namespace mha
