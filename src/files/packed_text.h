#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mha {

// The bytes deflated, in zlib's format (RFC 1950), as base64 (RFC 4648): how they travel
// inside a text. Throws Error(Fault::system) without memory.
std::string packed_text(std::span<const std::byte> bytes);

}  // namespace mha
