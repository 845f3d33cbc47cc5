#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace mha {

// Whether a sanitizer watches each allocation, so that none is used again at once.
#if defined(__has_feature)  // clang's way to tell
inline constexpr bool kWatchedMemory =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kWatchedMemory = true;
#else
inline constexpr bool kWatchedMemory = false;
#endif

struct FreeAligned {
  void operator()(void* p) const noexcept;
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

// `bytes` of uninitialised memory, aligned to 64 bytes, out of huge pages: a fresh
// 4 KB page costs more than computing what goes into it. What is given back is
// kept for the next that asks for as much, up to 64 MB a piece. Throws
// Error(Fault::system) that names the size.
AlignedBytes allocate_aligned(std::size_t bytes);

// a * b, or nothing where it does not fit.
std::optional<std::size_t> checked_multiply(std::size_t a, std::size_t b);

// What this process may still allocate: the least of free memory, the cgroup's
// limit and RLIMIT_AS.
std::size_t available_memory();

// Throws Error(Fault::system) where `bytes` is more than available_memory():
// "WHAT needs 12.9 GB of memory, 3.2 GB are available". `remedy`, if not
// empty, is appended after "; ".
void require_memory(std::size_t bytes, const std::string& what,
                    const std::string& remedy = "");

// 12884901888 -> "12.9 GB"; decimal units as df -H prints them.
std::string format_bytes(std::size_t bytes);

}  // namespace mha
