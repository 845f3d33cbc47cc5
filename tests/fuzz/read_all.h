#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "files/archive.h"
#include "files/bytes.h"

namespace mha {

// The input of a fuzz target in memory of its own size, so that a read past
// its end is seen.
inline Bytes fuzz_bytes(const std::uint8_t* data, std::size_t size) {
  return Bytes::own(std::string(reinterpret_cast<const char*>(data), size));
}

// Opens an archive and reads every tensor of it; an Error is a fine answer.
template <typename Open>
void read_all(Open&& open) {
  try {
    const Archive archive = open();
    for (const Member& member : archive.members) {
      try {
        require_finite(read_tensor<float>(archive, member), where(archive, member));
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace mha
