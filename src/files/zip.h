#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "files/bytes.h"
#include "files/whole_file.h"

namespace mha {

// One file in a zip archive. Names are names: nothing is ever written where
// they point.
struct ZipEntry {
  std::string name;
  std::string where;     // "w.npz: W_Q.npy", begins every message
  Bytes packed;          // as it lies in the archive
  std::uint64_t size = 0;  // of its content
  std::uint32_t crc = 0;
  bool deflated = false;
};

// The entries in the order of the central directory (which alone is believed),
// folders left out. Refuses what is encrypted, packed by anything but deflate,
// outside the file or overlapping, named twice, or larger than deflate can
// make of its bytes. Throws Error that begins with `path`.
std::vector<ZipEntry> read_zip(const Bytes& file, const std::string& path);

// The whole content, inflated where it is deflated, else a slice; its checksum
// has been compared. Throws Error, Error(Fault::system) where it does not fit
// in memory.
Bytes zip_content(const ZipEntry& entry);

// The first `length` bytes of the content; no checksum can vouch for them.
// REQUIRES length <= entry.size.
Bytes zip_start(const ZipEntry& entry, std::size_t length);

// Writes stored entries one after another, zip64 where a size or an offset
// asks for it. It never seeks, so that a pipe will do.
class ZipWriter {
 public:
  // The file is borrowed; commit() is the caller's.
  explicit ZipWriter(WholeFile& file) : file_(file) {}
  // An entry whose content is `parts` side by side. REQUIRES a name that is
  // not there yet, of at most 65535 bytes.
  void add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts);
  // The central directory; nothing may follow.
  void finish();

 private:
  struct Written {
    std::string name;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;
  };
  void write(std::string_view bytes);
  WholeFile& file_;
  std::uint64_t offset_ = 0;
  std::vector<Written> entries_;
};

}  // namespace mha
