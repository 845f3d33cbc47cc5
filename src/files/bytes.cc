#include "files/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

// Below this all pages of a file are mapped at once; of a bigger one only
// those that are read, so that a bad header costs no more than the header.
constexpr std::size_t kPopulateLimit = std::size_t{16} << 20;
constexpr std::size_t kFirstRead = std::size_t{1} << 20;

Error failure(const std::string& path, const char* what) {
  return Error(source_name(path) + ": cannot " + what + ": " + std::strerror(errno),
               Fault::system);
}

struct Descriptor {
  int fd;
  bool ours;
  ~Descriptor() {
    if (ours && fd >= 0) ::close(fd);
  }
};

struct Mapping {
  void* memory = nullptr;
  std::size_t size = 0;
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (memory != nullptr) ::munmap(memory, size);
  }
};

void map_file(Mapping& mapping, int fd, std::size_t size, const std::string& path) {
  const int populate = size <= kPopulateLimit ? MAP_POPULATE : 0;
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | populate, fd, 0);
  if (memory == MAP_FAILED) throw failure(path, "map");
  mapping.memory = memory;
  mapping.size = size;
}

// Pages become memory only when they are touched, and mremap moves them
// without a copy.
void grow(Mapping& mapping, const std::string& path) {
  const std::size_t size = mapping.size == 0 ? kFirstRead : 2 * mapping.size;
  require_memory(size - mapping.size, source_name(path) + ": reading it to the end");
  void* memory =
      mapping.memory == nullptr
          ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
          : ::mremap(mapping.memory, mapping.size, size, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) throw failure(path, "read");
  mapping.memory = memory;
  mapping.size = size;
}

std::size_t read_to_end(Mapping& mapping, int fd, const std::string& path) {
  std::size_t filled = 0;
  while (true) {
    if (filled == mapping.size) grow(mapping, path);
    const ssize_t count =
        ::read(fd, static_cast<std::byte*>(mapping.memory) + filled, mapping.size - filled);
    if (count == 0) return filled;
    if (count > 0) {
      filled += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      throw failure(path, "read");
    }
  }
}

}  // namespace

Bytes Bytes::own(std::string data) {
  auto owner = std::make_shared<const std::string>(std::move(data));
  const auto span = std::as_bytes(std::span(*owner));
  return {std::move(owner), span};
}

Bytes Bytes::open(const std::string& path) {
  const bool is_stdin = path == "-";
  const Descriptor file{is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC),
                        !is_stdin};
  struct stat status {};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) throw failure(path, "open");
  if (S_ISDIR(status.st_mode)) {
    throw Error(source_name(path) + ": is a directory, expected a file");
  }
  auto mapping = std::make_shared<Mapping>();
  std::size_t size = 0;
  // What /proc offers is regular and has size 0; a redirected standard input
  // may have been read from already.
  if (S_ISREG(status.st_mode) && status.st_size > 0 && ::lseek(file.fd, 0, SEEK_CUR) == 0) {
    size = static_cast<std::size_t>(status.st_size);
    map_file(*mapping, file.fd, size, path);
  } else {
    size = read_to_end(*mapping, file.fd, path);
  }
  const std::span<const std::byte> span(static_cast<const std::byte*>(mapping->memory), size);
  return {std::move(mapping), span};
}

Bytes Bytes::slice(std::size_t offset, std::size_t length) const {
  assert(offset <= size() && length <= size() - offset);
  return {owner_, span_.subspan(offset, length)};
}

}  // namespace mha
