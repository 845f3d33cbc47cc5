#include "base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "support/error_of.h"
#include "support/simd_guard.h"

namespace mha {
namespace {

// How often each task ran.
std::vector<int> runs(std::size_t count) {
  std::vector<std::atomic<int>> times(count);
  parallel(count, [&](std::size_t i) { times[i].fetch_add(1); });
  return {times.begin(), times.end()};
}

// Enough for a number to be worth a thread by itself.
constexpr auto kMuch = static_cast<std::size_t>(kWorthThreads);

// How often each number was in a range.
std::vector<int> covered(std::size_t count, std::size_t each) {
  std::vector<std::atomic<int>> times(count);
  parallel_ranges(count, each, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) times.at(i).fetch_add(1);
  });
  return {times.begin(), times.end()};
}

}  // namespace

TEST_CASE("every task runs once, on any number of threads") {
  const ThreadsGuard guard;
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    use_threads(threads);
    CHECK(threads_in_use() == threads);
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 64, 1000}) {
      CAPTURE(threads, count);
      CHECK(runs(count) == std::vector<int>(count, 1));
    }
  }
  use_threads(0);
  CHECK(threads_in_use() == 1);
}

TEST_CASE("tasks know their thread, and no two threads have one number") {
  const ThreadsGuard guard;
  use_threads(4);
  CHECK(current_thread() == 0);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> faults{0};
  parallel(2000, [&](std::size_t) {
    const std::size_t me = current_thread();
    if (me >= 4 || busy[me].fetch_add(1) != 0) faults.fetch_add(1);
    std::this_thread::yield();
    busy[std::min<std::size_t>(me, 3)].fetch_sub(1);
  });
  CHECK(faults == 0);
}

TEST_CASE("many small calls one after another lose no task and see each other's results") {
  const ThreadsGuard guard;
  use_threads(4);
  std::vector<int> values(5, 0);  // not atomic: each call reads what the last one wrote
  for (int call = 0; call < 20000; ++call) {
    parallel(values.size(), [&](std::size_t i) { values[i] += 1; });
    std::rotate(values.begin(), values.begin() + 1, values.end());
  }
  CHECK(values == std::vector<int>(5, 20000));
}

TEST_CASE("threads that come after others do only new work") {
  const ThreadsGuard guard;
  for (int round = 0; round < 50; ++round) {
    for (const std::size_t threads : {2, 4, 3, 1, 8}) {
      use_threads(threads);
      REQUIRE(runs(10) == std::vector<int>(10, 1));
    }
  }
}

TEST_CASE("a task's exception comes out once the others have ended, and the next call works") {
  const ThreadsGuard guard;
  const std::size_t threads = GENERATE(1, 2, 4);
  use_threads(threads);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> at_work{0};
    const std::string text = error_of([&] {
      parallel(20, [&](std::size_t i) {
        at_work.fetch_add(1);
        std::this_thread::yield();
        at_work.fetch_sub(1);
        if (i % 7 == 3) throw Error("task " + std::to_string(i % 7));
      });
    });
    REQUIRE(text == "task 3");
    REQUIRE(at_work == 0);
  }
  CHECK_THROWS_AS(parallel(3, [](std::size_t) { throw 42; }), int);
  CHECK(runs(100) == std::vector<int>(100, 1));
}

TEST_CASE("a task that calls parallel() does that work alone") {
  const ThreadsGuard guard;
  use_threads(4);
  std::vector<std::atomic<int>> times(20);
  std::atomic<int> moved{0};
  // Two tasks leave two threads idle, and the work within is long enough for them
  // to come.
  parallel(2, [&](std::size_t i) {
    const std::size_t me = current_thread();
    parallel(10, [&](std::size_t j) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      times[10 * i + j].fetch_add(1);
      if (current_thread() != me) moved.fetch_add(1);
    });
  });
  CHECK(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
  CHECK(moved == 0);
  // An exception within goes through both calls.
  CHECK(error_of([] {
          parallel(4, [](std::size_t) {
            parallel(4, [](std::size_t j) {
              if (j == 2) throw Error("inner");
            });
          });
        }) == "inner");
  CHECK(runs(100) == std::vector<int>(100, 1));
}

TEST_CASE("where no thread can be started the caller does the work") {
  const ThreadsGuard guard;
  pthread_attr_t usual;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  pthread_attr_t huge;
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, std::size_t{1} << 50);  // more than there are addresses
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  use_threads(4);
  const std::vector<int> times = runs(100);
  const std::size_t left = threads_in_use();
  pthread_setattr_default_np(&usual);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&usual);
  CHECK(times == std::vector<int>(100, 1));
  CHECK(left == 1);
  use_threads(4);
  CHECK(runs(100) == std::vector<int>(100, 1));
  CHECK(threads_in_use() == 4);
}

TEST_CASE("ranges make up what is to be done, on any number of threads") {
  const ThreadsGuard guard;
  for (const std::size_t threads : {1, 2, 3, 8}) {
    use_threads(threads);
    for (const std::size_t count : {0, 1, 2, 3, 7, 31, 32, 33, 1001, 100003}) {
      for (const std::size_t each : {std::size_t{0}, std::size_t{50}, kMuch}) {
        CAPTURE(threads, count, each);
        CHECK(covered(count, each) == std::vector<int>(count, 1));
      }
    }
  }
}

TEST_CASE("little work is one range, much of it no more than four for each thread") {
  const ThreadsGuard guard;
  use_threads(3);
  const auto ranges_of = [](std::size_t count, std::size_t each) {
    std::atomic<int> ranges{0};
    parallel_ranges(count, each, [&](std::size_t, std::size_t) { ++ranges; });
    return ranges.load();
  };
  CHECK(ranges_of(kMuch - 1, 1) == 1);
  CHECK(ranges_of(kMuch, 1) == 12);
  CHECK(ranges_of(5, kMuch) == 5);
  CHECK(ranges_of(1, kMuch) == 1);
}

TEST_CASE("ranges within a task are done by its thread, and exceptions come out of them") {
  const ThreadsGuard guard;
  use_threads(4);
  std::vector<std::atomic<int>> times(400);
  std::atomic<int> moved{0};
  parallel(4, [&](std::size_t task) {
    const std::size_t me = current_thread();
    parallel_ranges(100, kMuch, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) times[100 * task + i].fetch_add(1);
      if (current_thread() != me) moved.fetch_add(1);
    });
  });
  CHECK(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
  CHECK(moved == 0);
  const auto last_fails = [](std::size_t, std::size_t end) {
    if (end == 100) throw Error("the last");
  };
  CHECK(error_of([&] { parallel_ranges(100, kMuch, last_fails); }) == "the last");
  CHECK(error_of([&] { parallel_ranges(100, 1, last_fails); }) == "the last");
  CHECK(covered(100, kMuch) == std::vector<int>(100, 1));
}

TEST_CASE("a process has a processor at least") {
  CHECK(available_processors() >= 1);
  CHECK(available_processors() <= std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace mha
