#include "files/zip.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
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
constexpr uLong kEncrypted = 1;

// minizip reads through functions; these read memory.
struct Cursor {
  std::span<const std::byte> bytes;
  std::uint64_t position = 0;
};

Cursor& cursor(voidpf stream) { return *static_cast<Cursor*>(stream); }

extern "C" {
static voidpf open_memory(voidpf opaque, const void*, int) { return opaque; }
static uLong read_memory(voidpf, voidpf stream, void* to, uLong size) {
  Cursor& from = cursor(stream);
  const auto count = std::min<std::uint64_t>(size, from.bytes.size() - from.position);
  if (count > 0) std::memcpy(to, from.bytes.data() + from.position, count);
  from.position += count;
  return static_cast<uLong>(count);
}
static uLong write_memory(voidpf, voidpf, const void*, uLong) { return 0; }
static ZPOS64_T tell_memory(voidpf, voidpf stream) { return cursor(stream).position; }
static long seek_memory(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  Cursor& from = cursor(stream);
  const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                             : origin == ZLIB_FILEFUNC_SEEK_CUR ? from.position
                                                                : from.bytes.size();
  if (offset > from.bytes.size() - base) return -1;
  from.position = base + offset;
  return 0;
}
static int close_memory(voidpf, voidpf) { return 0; }
static int no_error(voidpf, voidpf) { return 0; }
}

struct CloseZip {
  void operator()(void* zip) const { unzClose(zip); }
};
using ZipHandle = std::unique_ptr<void, CloseZip>;

// The record that ends an archive: 22 bytes and a comment that reaches to the
// end of the file. minizip is content with less. Returns how many entries it
// counts (0xFFFF and more are counted by a zip64 record).
std::optional<std::size_t> count_entries(std::string_view file) {
  constexpr std::size_t kRecord = 22;
  constexpr std::size_t kLongestComment = 0xFFFF;
  const auto u16 = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(file[at])} |
           std::size_t{static_cast<unsigned char>(file[at + 1])} << 8;
  };
  for (std::size_t comment = 0; comment <= kLongestComment; ++comment) {
    if (comment + kRecord > file.size()) break;
    const std::size_t begin = file.size() - kRecord - comment;
    if (file.substr(begin, 4) == "PK\x05\x06" && u16(begin + 20) == comment)
      return u16(begin + 10);
  }
  return std::nullopt;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

// The entry that `zip` stands at.
ZipEntry read_entry(unzFile zip, const Bytes& file, const std::string& path) {
  unz_file_info64 info{};
  ZipEntry entry;
  if (unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) == UNZ_OK) {
    entry.name.resize(info.size_filename);
  }
  if (unzGetCurrentFileInfo64(zip, &info, entry.name.data(), entry.name.size(), nullptr, 0,
                              nullptr, 0) != UNZ_OK) {
    throw Error(path + ": the directory of the zip archive is damaged");
  }
  entry.where = path + ": " + printable(entry.name);
  entry.size = info.uncompressed_size;
  entry.crc = static_cast<std::uint32_t>(info.crc);
  entry.deflated = info.compression_method == Z_DEFLATED;
  if ((info.flag & kEncrypted) != 0) {
    throw Error(entry.where + ": is encrypted, which is not supported");
  }
  if (info.compression_method != 0 && !entry.deflated) {
    throw Error(entry.where + ": is packed by method " + number(info.compression_method) +
                ", expected 0 (stored) or 8 (deflated)");
  }
  // Open as raw bytes, only to learn where they begin.
  int method = 0;
  if (unzOpenCurrentFile2(zip, &method, nullptr, 1) != UNZ_OK) {
    throw Error(entry.where +
                ": its local header is damaged or says other than the directory");
  }
  const std::uint64_t begin = unzGetCurrentFileZStreamPos64(zip);
  unzCloseCurrentFile(zip);
  if (begin > file.size() || info.compressed_size > file.size() - begin) {
    throw Error(entry.where + ": " + number(info.compressed_size) + " bytes from offset " +
                number(begin) + " reach past the end of the file (" + number(file.size()) +
                " bytes)");
  }
  if (!entry.deflated && info.compressed_size != info.uncompressed_size) {
    throw Error(entry.where + ": is stored in " + number(info.compressed_size) +
                " bytes, but its size is " + number(info.uncompressed_size));
  }
  if (entry.deflated && info.uncompressed_size / kDeflateLimit > info.compressed_size) {
    throw Error(entry.where + ": " + number(info.compressed_size) +
                " bytes cannot inflate to " + number(info.uncompressed_size));
  }
  entry.packed = file.slice(begin, info.compressed_size);
  return entry;
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
  const auto count = count_entries(file.text());
  if (count == 0) return {};
  Cursor from{file.span()};
  zlib_filefunc64_def functions{open_memory, read_memory,  write_memory, tell_memory,
                                seek_memory, close_memory, no_error,     &from};
  const ZipHandle zip(unzOpen2_64(nullptr, &functions));
  unz_global_info64 info{};
  if (!count || zip == nullptr || unzGetGlobalInfo64(zip.get(), &info) != UNZ_OK) {
    throw Error(path + ": is a zip archive without its directory at the end (cut short?)");
  }
  std::vector<ZipEntry> entries;
  std::unordered_set<std::string> names;
  int status = unzGoToFirstFile(zip.get());
  while (status == UNZ_OK) {
    ZipEntry entry = read_entry(zip.get(), file, path);
    if (!names.insert(entry.name).second) {
      throw Error(entry.where + ": stands in the zip archive twice");
    }
    const bool is_folder = entry.size == 0 && entry.name.ends_with('/');
    if (!is_folder) entries.push_back(std::move(entry));
    status = unzGoToNextFile(zip.get());
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) {
    throw Error(path + ": the directory of the zip archive is damaged after " +
                number(names.size()) + " of " + number(info.number_entry) + " entries");
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
