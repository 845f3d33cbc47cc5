#include "files/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"

namespace mha {
namespace {

// Deflate spends at least a bit on two codes that stand for 258 bytes each.
constexpr std::size_t kDeflateLimit = 1032;
constexpr std::uint64_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13;
constexpr std::uint64_t kFull32 = 0xFFFFFFFF;  // "see the zip64 field"

std::string number(std::uint64_t value) { return std::to_string(value); }

// Little-endian fields, the layout of PKWARE's APPNOTE 6.3, section 4.3.
// REQUIRES offsets within the bytes.
struct Fields {
  std::string_view bytes;
  std::uint64_t u16(std::size_t at) const { return read(at, 2); }
  std::uint64_t u32(std::size_t at) const { return read(at, 4); }
  std::uint64_t u64(std::size_t at) const { return read(at, 8); }

 private:
  std::uint64_t read(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    while (count-- > 0) value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + count));
    return value;
  }
};

// The record of `size` bytes at `offset`, if it is there and so signed.
std::optional<Fields> record_at(std::string_view file, std::uint64_t offset, std::size_t size,
                                std::string_view signature) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  const std::string_view bytes = file.substr(offset);
  return bytes.starts_with(signature) ? std::optional(Fields{bytes}) : std::nullopt;
}

struct Directory {
  std::uint64_t count = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The record that ends an archive: 22 bytes and a comment that reaches to the
// end of the file.
std::optional<std::size_t> find_end(std::string_view file) {
  constexpr std::size_t kRecord = 22;
  constexpr std::size_t kLongestComment = 0xFFFF;
  for (std::size_t comment = 0; comment <= kLongestComment; ++comment) {
    if (comment + kRecord > file.size()) break;
    const std::size_t begin = file.size() - kRecord - comment;
    const auto record = record_at(file, begin, kRecord, "PK\x05\x06");
    if (record && record->u16(20) == comment) return begin;
  }
  return std::nullopt;
}

Directory find_directory(std::string_view file, const std::string& path) {
  const auto end = find_end(file);
  if (!end)
    throw Error(path + ": is a zip archive without its directory at the end (cut short?)");
  const Fields record{file.substr(*end)};
  std::uint64_t count = record.u16(10), size = record.u32(12), begin = record.u32(16);
  constexpr std::size_t kLocator = 20;
  if (const auto locator = *end < kLocator
                               ? std::nullopt
                               : record_at(file, *end - kLocator, kLocator, "PK\x06\x07")) {
    const auto zip64 = record_at(file, locator->u64(8), 56, "PK\x06\x06");
    if (!zip64) throw Error(path + ": the zip64 record of the zip archive is damaged");
    count = zip64->u64(32);
    size = zip64->u64(40);
    begin = zip64->u64(48);
  }
  if (begin > *end || size > *end - begin) {
    throw Error(path + ": the directory of the zip archive, " + number(size) +
                " bytes from offset " + number(begin) + ", reaches past its end at " +
                number(*end));
  }
  return {count, begin, begin + size};
}

// An entry of the directory as it is written there.
struct Listed {
  ZipEntry entry;
  std::uint64_t packed_size = 0;
  std::uint64_t offset = 0;  // of the local header
};

// Takes over the sizes that need 64 bits, which stand in this order where
// their 32 bits are all set.
void read_zip64(std::string_view extra, Listed& listed) {
  while (extra.size() >= 4) {
    const Fields head{extra};
    const std::size_t size = std::min<std::size_t>(head.u16(2), extra.size() - 4);
    if (head.u16(0) != 1) {
      extra.remove_prefix(4 + size);
      continue;
    }
    const Fields fields{extra.substr(4, size)};
    std::size_t at = 0;
    for (std::uint64_t* field : {&listed.entry.size, &listed.packed_size, &listed.offset}) {
      if (*field != kFull32 || at + 8 > size) continue;
      *field = fields.u64(at);
      at += 8;
    }
    return;
  }
}

// Reads the entry at `at`, which moves behind it; nothing where there is none.
std::optional<Listed> read_listed(std::string_view directory, std::size_t& at,
                                  const std::string& path) {
  constexpr std::size_t kHeader = 46;
  const auto fields = record_at(directory, at, kHeader, "PK\x01\x02");
  if (!fields) return std::nullopt;
  const std::size_t name = fields->u16(28), extra = fields->u16(30), comment = fields->u16(32);
  if (name + extra + comment > directory.size() - at - kHeader) return std::nullopt;
  Listed listed;
  ZipEntry& entry = listed.entry;
  entry.name = directory.substr(at + kHeader, name);
  entry.where = path + ": " + printable(entry.name);
  entry.crc = static_cast<std::uint32_t>(fields->u32(16));
  entry.size = fields->u32(24);
  listed.packed_size = fields->u32(20);
  listed.offset = fields->u32(42);
  read_zip64(directory.substr(at + kHeader + name, extra), listed);
  const std::uint64_t method = fields->u16(10);
  entry.deflated = method == Z_DEFLATED;
  if ((fields->u16(8) & kEncrypted) != 0) {
    throw Error(entry.where + ": is encrypted, which is not supported");
  }
  if (method != 0 && !entry.deflated) {
    throw Error(entry.where + ": is packed by method " + number(method) +
                ", expected 0 (stored) or 8 (deflated)");
  }
  at += kHeader + name + extra + comment;
  return listed;
}

// The bytes of an entry, behind its local header. Of that header only name
// and length count: sizes may be missing there.
Bytes find_packed(const Listed& listed, const Bytes& file, std::uint64_t end) {
  constexpr std::size_t kHeader = 30;
  const ZipEntry& entry = listed.entry;
  const auto header = record_at(file.text(), listed.offset, kHeader, "PK\x03\x04");
  if (!header) {
    throw Error(entry.where + ": there is no local header at offset " + number(listed.offset));
  }
  const std::uint64_t name = header->u16(26);
  if (header->bytes.substr(kHeader, name) != entry.name) {
    throw Error(entry.where + ": has another name in its local header, " +
                printable(header->bytes.substr(kHeader, name)));
  }
  const std::uint64_t begin = listed.offset + kHeader + name + header->u16(28);
  if (begin > end || listed.packed_size > end - begin) {
    throw Error(entry.where + ": " + number(listed.packed_size) + " bytes from offset " +
                number(begin) + " reach past the last entry's end at " + number(end));
  }
  if (!entry.deflated && listed.packed_size != entry.size) {
    throw Error(entry.where + ": is stored in " + number(listed.packed_size) +
                " bytes, but its size is " + number(entry.size));
  }
  if (entry.deflated && entry.size / kDeflateLimit > listed.packed_size) {
    throw Error(entry.where + ": " + number(listed.packed_size) + " bytes cannot inflate to " +
                number(entry.size));
  }
  return file.slice(begin, listed.packed_size);
}

void refuse_overlaps(const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> by_offset;
  for (const ZipEntry& entry : entries) {
    if (!entry.packed.empty()) by_offset.push_back(&entry);
  }
  const auto begins_earlier = [](const ZipEntry* a, const ZipEntry* b) {
    return a->packed.data() < b->packed.data();
  };
  std::sort(by_offset.begin(), by_offset.end(), begins_earlier);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const ZipEntry& before = *by_offset[i - 1];
    if (before.packed.data() + before.packed.size() > by_offset[i]->packed.data()) {
      throw Error(by_offset[i]->where + ": overlaps " + printable(before.name));
    }
  }
}

// Inflates up to `capacity` bytes into `to`. Returns how many came, and whether
// that was all of the stream and all of the packed bytes.
std::pair<std::size_t, bool> inflate(const ZipEntry& entry, std::byte* to,
                                     std::size_t capacity) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    throw Error(entry.where + ": cannot inflate: out of memory", Fault::system);
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  auto* from = reinterpret_cast<const Bytef*>(entry.packed.data());
  std::size_t left = entry.packed.size();
  std::size_t filled = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const auto given = static_cast<uInt>(std::min(left, kMost));
    const auto room = static_cast<uInt>(std::min(capacity - filled, kMost));
    stream.next_in = const_cast<Bytef*>(from);  // zlib only reads it
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(to + filled);
    stream.avail_out = room;
    status = ::inflate(&stream, Z_NO_FLUSH);
    from += given - stream.avail_in;
    left -= given - stream.avail_in;
    filled += room - stream.avail_out;
    if (filled == capacity) break;
  }
  return {filled, status == Z_STREAM_END && left == 0};
}

Bytes owned(AlignedBytes memory, std::size_t size) {
  auto owner = std::make_shared<const AlignedBytes>(std::move(memory));
  const std::span<const std::byte> bytes(owner->get(), size);
  return Bytes::share(std::move(owner), bytes);
}

Bytes inflate_start(const ZipEntry& entry, std::size_t length) {
  require_memory(length, entry.where);
  AlignedBytes memory = allocate_aligned(length);
  const std::size_t filled = inflate(entry, memory.get(), length).first;
  if (filled != length) {
    throw Error(entry.where + ": its deflated bytes are damaged after " + number(filled) +
                " of " + number(entry.size) + " bytes");
  }
  return owned(std::move(memory), length);
}

Bytes inflate_whole(const ZipEntry& entry) {
  // A byte to spare tells content that is longer than the directory says.
  const std::size_t capacity = entry.size + 1;
  require_memory(capacity, entry.where);
  AlignedBytes memory = allocate_aligned(capacity);
  const auto [filled, complete] = inflate(entry, memory.get(), capacity);
  if (filled > entry.size) {
    throw Error(entry.where + ": inflates to more than the " + number(entry.size) +
                " bytes that the directory says");
  }
  if (filled != entry.size || !complete) {
    throw Error(entry.where + ": its deflated bytes are damaged after " + number(filled) +
                " of " + number(entry.size) + " bytes");
  }
  return owned(std::move(memory), entry.size);
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::vector<ZipEntry> read_zip(const Bytes& file, const std::string& path) {
  const Directory place = find_directory(file.text(), path);
  const std::string_view directory = file.text().substr(place.begin, place.end - place.begin);
  std::vector<ZipEntry> entries;
  std::unordered_set<std::string> names;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < place.count; ++i) {
    auto listed = read_listed(directory, at, path);
    if (!listed) {
      throw Error(path + ": the directory of the zip archive is damaged after " + number(i) +
                  " of " + number(place.count) + " entries");
    }
    listed->entry.packed = find_packed(*listed, file, place.begin);
    if (!names.insert(listed->entry.name).second) {
      throw Error(listed->entry.where + ": stands in the zip archive twice");
    }
    const bool is_folder = listed->entry.size == 0 && listed->entry.name.ends_with('/');
    if (!is_folder) entries.push_back(std::move(listed->entry));
  }
  if (at != directory.size()) {
    throw Error(path + ": the directory of the zip archive has " +
                number(directory.size() - at) + " bytes more than its " + number(place.count) +
                " entries");
  }
  refuse_overlaps(entries);
  return entries;
}

Bytes zip_content(const ZipEntry& entry) {
  Bytes content = entry.deflated ? inflate_whole(entry) : entry.packed;
  if (checksum(content.span()) != entry.crc) {
    throw Error(entry.where + ": is damaged, its checksum (CRC-32) does not match");
  }
  return content;
}

Bytes zip_start(const ZipEntry& entry, std::size_t length) {
  return entry.deflated ? inflate_start(entry, length) : entry.packed.slice(0, length);
}

}  // namespace mha
