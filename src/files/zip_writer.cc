#include <zlib.h>

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "files/zip.h"

namespace mha {
namespace {

constexpr std::uint32_t kFull32 = 0xFFFFFFFF;  // "see the zip64 field"
constexpr std::uint16_t kFull16 = 0xFFFF;
constexpr std::uint16_t kVersion = 20;       // folders, deflate
constexpr std::uint16_t kVersionZip64 = 45;  // APPNOTE 4.4.3
constexpr std::uint16_t kUtf8Name = 1 << 11;
// 1 January 1980, so that the same tensors give the same bytes.
constexpr std::uint32_t kDate = 0x00210000;

// Little-endian fields, the layout of PKWARE's APPNOTE 6.3, section 4.3.
class Record {
 public:
  Record& u16(std::uint64_t value) { return put(value, 2); }
  Record& u32(std::uint64_t value) { return put(value, 4); }
  Record& u64(std::uint64_t value) { return put(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& put(std::uint64_t value, int count) {
    for (; count > 0; --count, value >>= 8) bytes_ += static_cast<char>(value & 0xFF);
    return *this;
  }
  std::string bytes_;
};

std::uint64_t small(std::uint64_t value, std::uint64_t full) {
  return value < full ? value : full;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  offset_ += bytes.size();
}

void ZipWriter::add(const std::string& name,
                    std::initializer_list<std::span<const std::byte>> parts) {
  assert(name.size() <= kFull16);
  Written entry{name, 0, 0, offset_};
  for (const auto part : parts) {
    entry.size += part.size();
    entry.crc = static_cast<std::uint32_t>(
        crc32_z(entry.crc, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  }
  const bool zip64 = entry.size >= kFull32;
  Record header;
  header.text("PK\x03\x04").u16(zip64 ? kVersionZip64 : kVersion).u16(kUtf8Name).u16(0);
  header.u32(kDate).u32(entry.crc);
  header.u32(small(entry.size, kFull32)).u32(small(entry.size, kFull32));
  header.u16(name.size()).u16(zip64 ? 20 : 0).text(name);
  if (zip64) header.u16(1).u16(16).u64(entry.size).u64(entry.size);
  write(header.bytes());
  for (const auto part : parts) {
    file_.write(part);
    offset_ += part.size();
  }
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const std::uint64_t begin = offset_;
  for (const Written& entry : entries_) {
    Record extra;
    if (entry.size >= kFull32) extra.u64(entry.size).u64(entry.size);
    if (entry.offset >= kFull32) extra.u64(entry.offset);
    const bool zip64 = !extra.bytes().empty();
    Record header;
    header.text("PK\x01\x02").u16(kVersionZip64).u16(zip64 ? kVersionZip64 : kVersion);
    header.u16(kUtf8Name).u16(0).u32(kDate).u32(entry.crc);
    header.u32(small(entry.size, kFull32)).u32(small(entry.size, kFull32));
    header.u16(entry.name.size()).u16(zip64 ? extra.bytes().size() + 4 : 0);
    header.u16(0).u16(0).u16(0).u32(0).u32(small(entry.offset, kFull32)).text(entry.name);
    if (zip64) header.u16(1).u16(extra.bytes().size()).text(extra.bytes());
    write(header.bytes());
  }
  const std::uint64_t size = offset_ - begin;
  const std::uint64_t count = entries_.size();
  Record end;
  if (begin + size >= kFull32 || count >= kFull16) {
    const std::uint64_t end64 = offset_;
    end.text("PK\x06\x06").u64(44).u16(kVersionZip64).u16(kVersionZip64).u32(0).u32(0);
    end.u64(count).u64(count).u64(size).u64(begin);
    end.text("PK\x06\x07").u32(0).u64(end64).u32(1);
  }
  end.text("PK\x05\x06").u16(0).u16(0).u16(small(count, kFull16)).u16(small(count, kFull16));
  end.u32(small(size, kFull32)).u32(small(begin, kFull32)).u16(0);
  write(end.bytes());
}

}  // namespace mha
