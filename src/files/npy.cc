#include "files/npy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"
#include "files/npy_literal.h"

namespace mha {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Kind and digits of a descr that are numbers to us.
struct KnownType {
  std::string_view code;
  DType dtype;
};
constexpr std::array<KnownType, 13> kKnownTypes = {{
    {"b1", DType::boolean},
    {"u1", DType::u8},
    {"i1", DType::i8},
    {"u2", DType::u16},
    {"i2", DType::i16},
    {"u4", DType::u32},
    {"i4", DType::i32},
    {"u8", DType::u64},
    {"i8", DType::i64},
    {"f2", DType::f16},
    {"V2", DType::bf16},
    {"f4", DType::f32},
    {"f8", DType::f64},
}};

std::uint8_t byte_at(const Bytes& bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes.data()[i]);
}

// Magic, version and length field: 10 bytes in version 1.0, 12 after that.
// Returns where the literal begins and how long it says it is.
std::pair<std::size_t, std::size_t> read_preamble(const Bytes& bytes,
                                                  const std::string& where) {
  const std::size_t compared = std::min(bytes.size(), kMagic.size());
  if (bytes.text().substr(0, compared) != kMagic.substr(0, compared)) {
    throw Error(where + ": is no .npy array, it does not begin with \\x93NUMPY");
  }
  const unsigned major = bytes.size() > 6 ? byte_at(bytes, 6) : 1;
  const unsigned minor = bytes.size() > 7 ? byte_at(bytes, 7) : 0;
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(where + ": .npy version " + std::to_string(major) + "." +
                std::to_string(minor) + ", expected 1.0, 2.0 or 3.0");
  }
  const std::size_t field = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + field) {
    throw Error(where + ": " + std::to_string(bytes.size()) +
                " bytes, too few for the header of a .npy array");
  }
  std::size_t length = 0;
  for (std::size_t i = field; i-- > 0;) length = length << 8 | byte_at(bytes, 8 + i);
  return {8 + field, length};
}

// Fills dtype, item_size and big_endian from descr.
void read_descr(NpyHeader& header, bool structured, const std::string& where) {
  if (structured) return;
  std::string_view code = header.descr;
  if (code == "bfloat16") code = "V2";  // a workaround for ml_dtypes' loss of the name
  const bool marked = !code.empty() && std::string_view("<>=|").find(code[0]) != code.npos;
  header.big_endian = marked && code[0] == '>';
  if (marked) code.remove_prefix(1);
  for (const KnownType& known : kKnownTypes) {
    if (known.code != code) continue;
    header.dtype = known.dtype;
    header.item_size = size_of(known.dtype);
    return;
  }
  const std::string_view kind = code.substr(0, 1);
  std::string_view rest = code.substr(kind.size());
  if (kind == "O" && (rest.empty() || rest == "4" || rest == "8")) return;
  std::size_t size = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
  const bool has_size = failure == std::errc();
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  const bool is_text = kind == "U" || kind == "S" || kind == "a";
  const bool is_date = (kind == "M" || kind == "m") && size == 8;
  const bool is_odd = kind == "V" || (kind == "c" && (size == 8 || size >= 16)) ||
                      (kind == "f" && (size == 12 || size == 16));
  if (!has_size || !(is_date || (rest.empty() && (is_text || is_odd)))) {
    throw Error(where + ": descr '" + printable(header.descr) + "' is no dtype of numpy");
  }
  if (is_text) header.dtype = DType::text;
  const auto item_size = checked_multiply(size, kind == "U" ? 4 : 1);
  if (!item_size) {
    throw Error(where + ": descr '" + printable(header.descr) + "' is too large");
  }
  header.item_size = *item_size;
}

// The first axis is the one whose neighbours lie side by side.
Shape column_major(const Shape& shape) {
  Shape strides(shape.size());
  std::size_t stride = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::string_view code_of(DType dtype) {
  for (const KnownType& known : kKnownTypes) {
    if (known.dtype == dtype) return known.code;
  }
  assert(false && "a dtype that numpy can write");
  return "";
}

}  // namespace

NpyHeader read_npy_header(const std::function<Bytes(std::size_t)>& first, std::size_t size,
                          const std::string& where) {
  constexpr std::size_t kLongestPreamble = 12;
  const auto [begin, length] = read_preamble(first(std::min(size, kLongestPreamble)), where);
  if (length > size - begin) {
    throw Error(where + ": a header of " + std::to_string(length) + " bytes, the file has " +
                std::to_string(size - begin) + " left");
  }
  NpyHeader header;
  header.data_offset = begin + length;
  const Bytes start = first(header.data_offset);
  NpyLiteral literal = parse_npy_literal(start.text().substr(begin), begin, where);
  header.descr = std::move(literal.descr);
  header.fortran_order = literal.fortran_order;
  header.shape = std::move(literal.shape);
  read_descr(header, literal.structured, where);

  const std::size_t found = size - header.data_offset;
  if (header.dtype == DType::other && header.item_size == 0) return header;
  const std::size_t count = element_count(header.shape, where);
  const auto expected = checked_multiply(count, header.item_size);
  if (!expected || *expected != found) {
    throw Error(where + ": shape " + to_string(header.shape) + " of '" +
                printable(header.descr) + "' needs " +
                (expected ? std::to_string(*expected) : "more than 2^64") + " bytes, found " +
                std::to_string(found));
  }
  return header;
}

Member npy_member(std::string name, NpyHeader header, std::function<Bytes()> fetch) {
  Member member;
  member.name = std::move(name);
  member.dtype = header.dtype;
  member.dtype_name = std::move(header.descr);
  member.shape = std::move(header.shape);
  if (header.fortran_order) member.strides = column_major(member.shape);
  member.big_endian = header.big_endian;
  member.fetch = [fetch = std::move(fetch), offset = header.data_offset] {
    const Bytes file = fetch();
    return file.slice(offset, file.size() - offset);
  };
  return member;
}

Archive open_npy(const Bytes& bytes, const std::string& path) {
  Archive archive;
  archive.path = path;
  archive.container = "npy";
  NpyHeader header = read_npy_header(
      [&](std::size_t length) { return bytes.slice(0, length); }, bytes.size(), path);
  archive.members.push_back(npy_member("", std::move(header), [bytes] { return bytes; }));
  return archive;
}

std::string npy_header(DType dtype, const Shape& shape) {
  const char order = size_of(dtype) == 1 ? '|' : '<';
  return npy_header(order + std::string(code_of(dtype)), shape);
}

std::string npy_header(const std::string& descr, const Shape& shape) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kPreamble = 10;
  std::string literal = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) literal += ", ";
    literal += std::to_string(shape[axis]);
  }
  literal += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t unpadded = kPreamble + literal.size() + 1;
  literal.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  literal += '\n';
  assert(literal.size() <= std::numeric_limits<std::uint16_t>::max());
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(literal.size() & 0xFF),
             static_cast<char>(literal.size() >> 8)};
  return header + literal;
}

}  // namespace mha
