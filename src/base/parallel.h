#pragma once

#include <cstddef>
#include <functional>

namespace mha {

// Processors that this process may use: those of its affinity mask, fewer where
// the cgroup's quota gives it less time.
std::size_t available_processors();

// How many threads parallel() uses; 1 until it is said. Not while one runs.
void use_threads(std::size_t count);
std::size_t threads_in_use();

// task(0) … task(count - 1), each once, in any order and on any thread of a pool
// that the caller is part of; returns when all are done. Where a thread cannot
// be started, fewer do the work. The first exception of a task is thrown again
// once all that began have ended, and some may never begin. A task that calls
// parallel() does that work alone.
void parallel(std::size_t count, const std::function<void(std::size_t)>& task);

// Work that takes less than this is done before another thread has woken up:
// floating-point operations at full speed.
inline constexpr double kWorthThreads = 4e6;
// What reading a number and doing little with it takes, in those.
inline constexpr std::size_t kFlopsOfReading = 32;

// task(first, end) for ranges that make up [0, count), on several threads where all of
// it is at least kWorthThreads, `each` operations for one.
void parallel_ranges(std::size_t count, std::size_t each,
                     const std::function<void(std::size_t, std::size_t)>& task);

// Of the thread that a task runs on: below threads_in_use().
std::size_t current_thread();

}  // namespace mha
