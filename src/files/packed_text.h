#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mha {

// Bytes as base64 (RFC 4648, section 4), as a data: address holds them.
std::string base64(std::string_view bytes);

// The bytes deflated, in zlib's format (RFC 1950), as base64: how they travel
// inside a text. Throws Error(Fault::system) without memory.
std::string packed_text(std::span<const std::byte> bytes);

}  // namespace mha
