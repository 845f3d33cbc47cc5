#pragma once

// Pickles made by hand, opcode by opcode.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/crafted.h"

namespace mha::pk {

inline std::string text(std::string_view value) {
  return "X" + little(value.size(), 4) + std::string(value);
}
// LONG1 of eight bytes, which holds them all.
inline std::string integer(std::int64_t value) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
}
inline std::string name(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string tuple(const std::vector<std::string>& values) {
  std::string whole = "(";
  for (const std::string& value : values) whole += value;
  return whole + "t";
}
inline std::string integers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> parts;
  for (const std::int64_t value : values) parts.push_back(integer(value));
  return tuple(parts);
}
inline std::string call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + tuple(arguments) + "R";
}
inline std::string storage(const std::string& type, const std::string& key,
                           std::int64_t numel) {
  return tuple(
             {text("storage"), name("torch", type), text(key), text("cpu"), integer(numel)}) +
         "Q";
}
struct TensorArguments {
  std::string storage = pk::storage("FloatStorage", "0", 6);
  std::int64_t offset = 0;
  std::vector<std::int64_t> size = {2, 3};
  std::vector<std::int64_t> stride = {3, 1};
};
inline std::string tensor(const TensorArguments& given = {}) {
  return call(name("torch._utils", "_rebuild_tensor_v2"),
              {given.storage, integer(given.offset), integers(given.size),
               integers(given.stride), "\x89", call(name("collections", "OrderedDict"), {})});
}
// {"a": …, "b": …} of pairs.
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string whole = "}(";
  for (const auto& [key, value] : entries) whole += text(key) + value;
  return whole + "u";
}
inline std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }

// What torch.save makes of a value whose storage "0" holds 1, 2, … 6.
inline std::string checkpoint(const std::string& value) {
  return make_zip({{.name = "w/data.pkl", .content = pickle(value)},
                   {.name = "w/data/0", .content = floats({1, 2, 3, 4, 5, 6})},
                   {.name = "w/version", .content = "3\n"}});
}

}  // namespace mha::pk
