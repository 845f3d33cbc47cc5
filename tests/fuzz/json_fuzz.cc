#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "files/json.h"

// Any bytes are a config, a document or an Error; what a member says of its size holds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = mha::Bytes::own({reinterpret_cast<const char*>(data), size});
  try {
    mha::parse_config(bytes, "f.json");
  } catch (const mha::Error&) {
  }
  try {
    const mha::Archive archive = mha::open_json(bytes, "f.json");
    for (const mha::Member& member : archive.members) {
      const std::size_t count = mha::element_count(member.shape);
      if (member.fetch().size() != count * mha::size_of(member.dtype)) __builtin_trap();
    }
  } catch (const mha::Error&) {
  }
  return 0;
}
