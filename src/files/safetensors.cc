#include "files/safetensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "files/json.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::size_t kLengthField = 8;
constexpr std::size_t kLongestHeader = 100'000'000;  // as the reference reader

// Bits of an element, so that the size of what we cannot read is checked too.
struct KnownType {
  std::string_view name;
  DType dtype;
  std::size_t bits;
};
constexpr std::array<KnownType, 23> kKnownTypes = {{
    {"BOOL", DType::boolean, 8},
    {"U8", DType::u8, 8},
    {"I8", DType::i8, 8},
    {"U16", DType::u16, 16},
    {"I16", DType::i16, 16},
    {"U32", DType::u32, 32},
    {"I32", DType::i32, 32},
    {"U64", DType::u64, 64},
    {"I64", DType::i64, 64},
    {"F16", DType::f16, 16},
    {"BF16", DType::bf16, 16},
    {"F32", DType::f32, 32},
    {"F64", DType::f64, 64},
    {"F8_E4M3", DType::other, 8},
    {"F8_E5M2", DType::other, 8},
    {"F8_E8M0", DType::other, 8},
    {"F8_E4M3FNUZ", DType::other, 8},
    {"F8_E5M2FNUZ", DType::other, 8},
    {"F4", DType::other, 4},
    {"F6_E2M3", DType::other, 6},
    {"F6_E3M2", DType::other, 6},
    {"C64", DType::other, 64},
    {"C128", DType::other, 128},
}};

const KnownType* find_type(std::string_view name) {
  const auto* known = std::find_if(kKnownTypes.begin(), kKnownTypes.end(),
                                   [&](const KnownType& type) { return type.name == name; });
  return known == kKnownTypes.end() ? nullptr : known;
}

std::string number(std::size_t value) { return std::to_string(value); }

struct Entry {
  Member member;
  std::size_t bits = 0;  // of an element, 0 for a dtype that nobody knows
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What stands where something else should: "[0, 1.5]", "a string".
std::string describe(const JsonNode* node) {
  if (node == nullptr) return "nothing";
  using Kind = JsonNode::Kind;
  switch (node->kind) {
    case Kind::null: return "null";
    case Kind::boolean:
    case Kind::number: return node->text;
    case Kind::string: return "\"" + printable(node->text) + "\"";
    case Kind::numbers: break;
    case Kind::booleans:
    case Kind::strings:
    case Kind::objects: return "a list of something else";
    case Kind::object: return "an object";
  }
  if (node->shape.size() != 1) return "lists within a list";
  std::vector<std::string> numbers;
  for (const double value : node->numbers) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    numbers.emplace_back(text.data(), end);
  }
  return "[" + (numbers.empty() ? "" : list_of(numbers)) + "]";
}

Shape read_naturals(const JsonNode& info, const char* key, const std::string& where) {
  const JsonNode* node = info.find(key);
  const auto values = node == nullptr ? std::nullopt : node->naturals();
  if (!values) {
    throw Error(where + ": " + key + " is " + describe(node) +
                ", expected a list of whole numbers, not negative");
  }
  return *values;
}

Entry read_entry(const std::string& name, const JsonNode& info, std::size_t data_size,
                 const std::string& path) {
  const std::string where = path + ": " + printable(name);
  if (info.kind != JsonNode::Kind::object) {
    throw Error(where + ": is " + describe(&info) +
                " in the header, expected an object with dtype, shape and data_offsets");
  }
  Entry entry;
  entry.member.name = name;
  const JsonNode* dtype = info.find("dtype");
  if (dtype == nullptr || dtype->kind != JsonNode::Kind::string) {
    throw Error(where + ": dtype is " + describe(dtype) + ", expected a string");
  }
  entry.member.dtype_name = dtype->text;
  if (const KnownType* known = find_type(dtype->text)) {
    entry.member.dtype = known->dtype;
    entry.bits = known->bits;
  }
  entry.member.shape = read_naturals(info, "shape", where);
  const Shape offsets = read_naturals(info, "data_offsets", where);
  if (offsets.size() != 2) {
    throw Error(where + ": data_offsets has " + number(offsets.size()) +
                " numbers, expected a begin and an end");
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (entry.end < entry.begin) {
    throw Error(where + ": data_offsets " + to_string(offsets) + " end before they begin");
  }
  if (entry.end > data_size) {
    throw Error(where + ": data_offsets " + to_string(offsets) +
                " reach past the end, the file " + "has " + number(data_size) +
                " bytes after its header");
  }
  const std::size_t count = element_count(entry.member.shape, where);
  const auto bits = checked_multiply(count, entry.bits);
  if (!bits) {
    throw Error(where + ": shape " + to_string(entry.member.shape) + " of " +
                printable(dtype->text) + " is too large");
  }
  const std::size_t size = entry.end - entry.begin;
  if (entry.bits != 0 && (*bits % 8 != 0 || *bits / 8 != size)) {
    throw Error(where + ": shape " + to_string(entry.member.shape) + " of " +
                printable(dtype->text) + " needs " + number((*bits + 7) / 8) +
                " bytes, data_offsets " + to_string(offsets) + " hold " + number(size));
  }
  return entry;
}

// Sorted by place, each tensor must begin where the one before it ends.
void require_side_by_side(const std::vector<Entry>& entries, std::size_t data_size,
                          const std::string& path) {
  std::vector<const Entry*> by_place;
  for (const Entry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::size_t end = 0;
  std::string before = "the header";
  for (const Entry* entry : by_place) {
    if (entry->begin != end) {
      const std::string found = entry->begin < end ? " overlaps " : " leaves a hole after ";
      throw Error(path + ": " + printable(entry->member.name) + found + before +
                  ": it begins at " + number(entry->begin) + ", expected " + number(end));
    }
    end = entry->end;
    before = printable(entry->member.name);
  }
  if (end != data_size) {
    throw Error(path + ": " + number(data_size - end) + " bytes too many after " + before +
                ", which ends at " + number(end) + " of " + number(data_size));
  }
}

// The strings of a value that is JSON of a list of them; nothing for another one.
std::optional<std::vector<std::string>> list_in(const std::string& value) {
  if (!value.starts_with("[\"") || !value.ends_with("\"]")) return std::nullopt;
  try {
    JsonNode node = parse_json(Bytes::own(value), "");
    if (node.kind == JsonNode::Kind::strings && node.shape.size() == 1) return node.strings;
  } catch (const Error& error) {
    if (error.fault() == Fault::system) throw;
  }
  return std::nullopt;
}

void read_metadata(Archive& archive, const JsonNode& metadata) {
  const std::string where = archive.path + ": __metadata__";
  if (metadata.kind != JsonNode::Kind::object) {
    throw Error(where + " is " + describe(&metadata) + ", expected an object of strings");
  }
  for (std::size_t i = 0; i < metadata.keys.size(); ++i) {
    const JsonNode& value = metadata.children[i];
    if (value.kind != JsonNode::Kind::string) {
      throw Error(where + ": " + printable(metadata.keys[i]) + " is " + describe(&value) +
                  ", expected a string");
    }
    if (auto list = list_in(value.text)) {
      archive.lists[metadata.keys[i]] = std::move(*list);
    } else {
      archive.settings[metadata.keys[i]] = value.text;
    }
  }
}

// Checks the length in front of the header.
std::size_t header_length(const Bytes& bytes, const std::string& path) {
  if (bytes.size() < kLengthField) {
    throw Error(path + ": " + number(bytes.size()) + " bytes, too few for a safetensors file");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthField; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(bytes.data()[i]);
  }
  const std::string found =
      path + ": the safetensors header has a length of " + number(length) + " bytes";
  if (length < 2) throw Error(found + ", expected at least 2, an empty object");
  const std::size_t left = bytes.size() - kLengthField;
  if (length > left) throw Error(found + ", the file has " + number(left) + " left");
  if (length > kLongestHeader) {
    throw Error(found + ", at most " + number(kLongestHeader) + " are read");
  }
  return length;
}

}  // namespace

Archive open_safetensors(const Bytes& bytes, const std::string& path) {
  const std::size_t length = header_length(bytes, path);
  const JsonNode header =
      parse_json(bytes.slice(kLengthField, length), path + ": safetensors header");
  if (header.kind != JsonNode::Kind::object) {
    throw Error(path + ": the safetensors header is " + describe(&header) +
                ", expected an object");
  }
  const std::size_t data_begin = kLengthField + length;
  const std::size_t data_size = bytes.size() - data_begin;
  Archive archive;
  archive.path = path;
  archive.container = "safetensors";
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < header.keys.size(); ++i) {
    if (header.keys[i] == "__metadata__") {
      read_metadata(archive, header.children[i]);
    } else {
      entries.push_back(read_entry(header.keys[i], header.children[i], data_size, path));
    }
  }
  require_side_by_side(entries, data_size, path);
  for (Entry& entry : entries) {
    entry.member.fetch = [bytes, begin = data_begin + entry.begin,
                          size = entry.end - entry.begin] { return bytes.slice(begin, size); };
    archive.members.push_back(std::move(entry.member));
  }
  return archive;
}

}  // namespace mha
