#include "base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"

namespace mha {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kTooLittleToAsk = std::size_t{8} << 20;

std::optional<std::size_t> read_number(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // not there, or "max"
}

std::optional<std::size_t> free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// What the cgroup leaves: version 2, then version 1.
std::optional<std::size_t> cgroup_memory() {
  constexpr std::array<std::array<const char*, 2>, 2> kFiles = {{
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
       "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
  }};
  for (const auto& [limit_file, usage_file] : kFiles) {
    const auto limit = read_number(limit_file);
    const auto usage = read_number(usage_file);
    if (limit && usage) return *limit > *usage ? *limit - *usage : 0;
  }
  return std::nullopt;
}

// RLIMIT_AS less what is mapped already.
std::optional<std::size_t> address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  const std::size_t pages = read_number("/proc/self/statm").value_or(0);
  const std::size_t used = pages * 4096;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

// What stands before each piece: as much as a cache line, so that the piece is
// aligned to one.
struct alignas(kCacheLine) Header {
  std::size_t size;  // of the piece with its header
};

// Pieces of huge pages. A sanitizer sees each piece by itself instead.
class Arena {
 public:
  std::byte* take(std::size_t bytes) noexcept {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
    const std::size_t size = size_class(bytes + sizeof(Header));
    const std::lock_guard lock(mutex_);
    auto kept = kept_.find(size);
    std::byte* piece = nullptr;
    if (kept != kept_.end() && !kept->second.empty()) {
      piece = kept->second.back();
      kept->second.pop_back();
    } else {
      piece = is_cut(size) ? cut(size) : map(size);
    }
    if (piece == nullptr) return nullptr;
    return reinterpret_cast<std::byte*>(new (piece) Header{size} + 1);
  }

  void give_back(std::byte* memory) noexcept {
    std::byte* piece = memory - sizeof(Header);
    const std::size_t size = reinterpret_cast<Header*>(piece)->size;
    if (kWatchedMemory || size > kLargestKept) {
      std::free(piece);
      return;
    }
    const std::lock_guard lock(mutex_);
    try {
      kept_[size].push_back(piece);
    } catch (const std::bad_alloc&) {
      if (!is_cut(size)) std::free(piece);  // else it is lost until the end
    }
  }

 private:
  static constexpr std::size_t kLargestKept = std::size_t{64} << 20;

  // Each mapping of its own costs faults on small pages, and zeros to the end of a huge
  // one; of a chunk only what is touched becomes memory.
  static constexpr std::size_t kChunk = std::size_t{16} << 20;
  static bool is_cut(std::size_t size) { return size <= kChunk / 4 && !kWatchedMemory; }

  // Four classes to an octave, so that a piece fits others nearly as large.
  static std::size_t size_class(std::size_t size) {
    std::size_t step = kCacheLine;
    while (size / step >= 8) step *= 2;
    return (size + step - 1) / step * step;
  }

  static std::byte* map(std::size_t size) {
    const bool huge = size >= kHugePage / 2;
    const std::size_t alignment = huge ? kHugePage : kCacheLine;
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory != nullptr && huge) madvise(memory, rounded, MADV_HUGEPAGE);
    return static_cast<std::byte*>(memory);
  }

  std::byte* cut(std::size_t size) {
    if (left_ < size) {
      chunk_ = map(kChunk);
      left_ = chunk_ == nullptr ? 0 : kChunk;
    }
    if (left_ < size) return nullptr;
    std::byte* piece = chunk_;
    chunk_ += size;
    left_ -= size;
    return piece;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> kept_;
  std::byte* chunk_ = nullptr;
  std::size_t left_ = 0;
};

// Never destroyed: what is static may give its memory back after it.
Arena& arena() {
  static Arena* const the_arena = new Arena;
  return *the_arena;
}

}  // namespace

void FreeAligned::operator()(void* p) const noexcept {
  if (p != nullptr) arena().give_back(static_cast<std::byte*>(p));
}

AlignedBytes allocate_aligned(std::size_t bytes) {
  std::byte* memory = arena().take(bytes);
  if (memory == nullptr) {
    throw Error("cannot allocate " + format_bytes(bytes) + " of memory", Fault::system);
  }
  return AlignedBytes(memory);
}

std::optional<std::size_t> checked_multiply(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::size_t available_memory() {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& limit : {free_memory(), cgroup_memory(), address_space()}) {
    if (limit) least = std::min(least, *limit);
  }
  return least;
}

void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy) {
  // Asking takes longer than a small layer; where so little is left, allocating says so.
  if (bytes <= kTooLittleToAsk) return;
  const std::size_t available = available_memory();
  if (bytes <= available) return;
  throw Error(what + " needs " + format_bytes(bytes) + " of memory, " +
                  format_bytes(available) + " are available" +
                  (remedy.empty() ? "" : "; " + remedy),
              Fault::system);
}

std::string format_bytes(std::size_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return text.data();
}

}  // namespace mha
