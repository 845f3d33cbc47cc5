#pragma once

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mha {

// What packed_text made of them: base64 of zlib's format. REQUIRES at most 100 MB.
inline std::string unpacked(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw std::invalid_argument("not base64");
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    packed += static_cast<char>(group >> bits & 0xFF);
  }
  for (std::size_t room = 1000; room <= 100'000'000; room *= 10) {
    std::string bytes(room, '\0');
    uLongf size = bytes.size();
    uLong used = packed.size();
    const int code = uncompress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                 reinterpret_cast<const Bytef*>(packed.data()), &used);
    if (code == Z_BUF_ERROR) continue;
    if (code != Z_OK || used != packed.size())
      throw std::invalid_argument("not zlib's format");
    bytes.resize(size);
    return bytes;
  }
  throw std::length_error("more than 100 MB");
}

}  // namespace mha
