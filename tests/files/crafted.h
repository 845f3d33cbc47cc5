#pragma once

// Files made by hand, so that each field of them can be wrong on its own.

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/archive.h"
#include "files/bytes.h"
#include "tensor/tensor.h"

namespace mha {

// Little-endian, `count` bytes of it.
inline std::string little(std::uint64_t value, int count) {
  std::string bytes;
  for (; count > 0; --count, value >>= 8) bytes += static_cast<char>(value & 0xFF);
  return bytes;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::string floats(const std::vector<float>& values) { return bytes_of(values); }

// A .npy file with this literal as its header, as it stands.
inline std::string npy_with_header(std::string_view literal, std::string_view data,
                                   int major = 1) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(major), '\0'};
  file += little(literal.size(), major == 1 ? 2 : 4);
  file += literal;
  file += data;
  return file;
}

// make_npy("<f4", false, "(2, 2)", floats({1, 2, 3, 4}))
inline std::string make_npy(const std::string& descr, bool fortran_order,
                            const std::string& shape, std::string_view data, int major = 1) {
  return npy_with_header("{'descr': '" + descr +
                             "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                             ", 'shape': " + shape + ", }\n",
                         data, major);
}

// The length of the header, then the header, then the data.
inline std::string make_safetensors(std::string_view header, std::string_view data) {
  std::string file = little(header.size(), 8);
  file += header;
  file += data;
  return file;
}

inline std::string deflated(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// An entry of a zip archive. What is set here is written, true or not.
struct CraftedEntry {
  std::string name;
  std::string content;
  bool deflate = false;
  std::uint16_t flags = 0;
  std::optional<std::uint16_t> method = {};
  std::optional<std::uint32_t> crc = {};
  std::optional<std::uint32_t> size = {};    // of the content
  std::optional<std::uint32_t> packed = {};  // as it lies there
  std::optional<std::uint32_t> offset = {};  // of the local header
  bool zip64 = false;        // sizes of 64 bits in the local header, as numpy writes them
  bool listed64 = false;     // sizes and offset of 64 bits in the directory
  std::string local_name{};  // in the local header, where it is another
};

inline std::string make_zip(const std::vector<CraftedEntry>& entries) {
  std::string file, directory;
  for (const CraftedEntry& entry : entries) {
    const std::string packed = entry.deflate ? deflated(entry.content) : entry.content;
    const auto crc = entry.crc.value_or(static_cast<std::uint32_t>(crc32_z(
        0, reinterpret_cast<const Bytef*>(entry.content.data()), entry.content.size())));
    const std::size_t size = entry.size.value_or(entry.content.size());
    const std::size_t packed_size = entry.packed.value_or(packed.size());
    const std::string common = little(20, 2) + little(entry.flags, 2) +
                               little(entry.method.value_or(entry.deflate ? 8 : 0), 2) +
                               little(0x00210000, 4) + little(crc, 4);
    const std::string sizes = little(packed_size, 4) + little(size, 4);
    const std::size_t offset = entry.offset.value_or(file.size());
    const std::string full(4, '\xFF');
    directory += "PK\x01\x02" + little(20, 2) + common +
                 (entry.listed64 ? full + full : sizes) + little(entry.name.size(), 2) +
                 little(entry.listed64 ? 33 : 0, 2) + little(0, 10) +
                 (entry.listed64 ? full : little(offset, 4)) + entry.name;
    if (entry.listed64) {  // behind a field that means nothing to us
      directory += little(0x5455, 2) + little(1, 2) + "t" + little(1, 2) + little(24, 2) +
                   little(size, 8) + little(packed_size, 8) + little(offset, 8);
    }
    const std::string& local_name = entry.local_name.empty() ? entry.name : entry.local_name;
    file += "PK\x03\x04" + common + (entry.zip64 ? std::string(8, '\xFF') : sizes) +
            little(local_name.size(), 2) + little(entry.zip64 ? 20 : 0, 2) + local_name;
    if (entry.zip64) {
      file += little(1, 2) + little(16, 2) + little(size, 8) + little(packed_size, 8);
    }
    file += packed;
  }
  return file + directory + "PK\x05\x06" + little(0, 4) + little(entries.size(), 2) +
         little(entries.size(), 2) + little(directory.size(), 4) + little(file.size(), 4) +
         little(0, 2);
}

// All numbers of a tensor of a file that is known to be good.
inline std::vector<double> numbers(const Archive& archive, std::string_view name) {
  const Tensor<double> tensor = read_tensor<double>(archive, archive.at(name));
  return {tensor.values().begin(), tensor.values().end()};
}

}  // namespace mha
