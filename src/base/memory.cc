#include "base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/error.h"

namespace mha {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

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

}  // namespace

void FreeAligned::operator()(void* p) const noexcept { std::free(p); }

AlignedBytes allocate_aligned(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory =
      rounded >= bytes ? std::aligned_alloc(alignment, std::max(rounded, alignment)) : nullptr;
  if (memory == nullptr) {
    throw Error("cannot allocate " + format_bytes(bytes) + " of memory", Fault::system);
  }
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  return AlignedBytes(static_cast<std::byte*>(memory));
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
