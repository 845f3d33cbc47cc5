#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "files/bytes.h"

namespace mha {

// What a pickle describes. Nothing is imported, built or called: a class or
// function is a name, calling it is a value that says so. Values refer to one
// another by index, may be shared and may contain themselves.
struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    large_integer,  // beyond 64 bits
    real,
    text,
    bytes,
    tuple,
    list,
    set,
    dict,
    name,       // of a class or function: "torch._utils._rebuild_tensor_v2"
    call,       // of `callee` with `arguments`, then given `state` and items
    persistent  // what stands outside the pickle under the id items[0]
  };
  Kind kind = Kind::none;
  std::uint32_t callee = 0;     // call
  std::uint32_t arguments = 0;  // call
  std::uint32_t state = 0;      // call: what BUILD gave it, 0 where nothing did
  std::int64_t integer = 0;     // integer; boolean: 0 or 1
  std::string_view text;        // text, bytes, name
  // tuple, list, set: its values; dict and call: keys and values in turn.
  std::vector<std::uint32_t> items;
};

struct Pickle {
  Pickle() = default;
  Pickle(Pickle&&) = default;  // a copy's texts would point into this one

  Bytes bytes;  // what texts point into
  std::deque<std::string> names;
  std::vector<PickleValue> values;  // values[0] is None
  std::uint32_t root = 0;
  std::size_t begin = 0;  // its offset in `bytes`
  std::size_t end = 0;    // behind it

  const PickleValue& operator[](std::uint32_t index) const { return values[index]; }
  // What the value is where it is a name, a text, a call, a tuple; "", None and
  // null where it is something else.
  std::string_view name_of(std::uint32_t index) const;
  std::string_view text_of(std::uint32_t index) const;
  std::uint32_t callee_of(std::uint32_t index) const;
  const std::vector<std::uint32_t>* tuple_of(std::uint32_t index) const;
};

// Reads the pickle at `begin` by the opcodes of protocols 2 to 5 that plain
// data needs (Lib/pickletools.py). However deep it is, neither reading nor
// dropping it recurses. Throws Error that begins with `where` and names the
// byte of an opcode that is unknown, misses an operand, or makes more than two
// million values.
Pickle read_pickle(const Bytes& bytes, const std::string& where, std::size_t begin = 0);

// "dict", "int", for a call or name the name itself: "collections.OrderedDict".
std::string describe(const Pickle& pickle, std::uint32_t index);

}  // namespace mha
