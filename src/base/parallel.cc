#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mha {
namespace {

thread_local std::size_t this_thread = 0;
thread_local bool inside = false;

constexpr int kSpins = 1000;  // longer than what a layer does on one thread in between

// One call of parallel(). Workers that come late find no task left and hold
// nothing but the job itself, so that nobody waits for a thread, only for tasks.
struct Job {
  Job(std::size_t count_, const std::function<void(std::size_t)>& task_)
      : count(count_), task(&task_) {}

  void work() {
    inside = true;
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        (*task)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      if (done.fetch_add(1) + 1 == count) {
        const std::lock_guard lock(mutex);
        finished.notify_all();
      }
    }
    inside = false;
  }

  void wait() {
    for (int i = 0; i < kSpins && done.load() < count; ++i) std::this_thread::yield();
    std::unique_lock lock(mutex);
    finished.wait(lock, [this] { return done.load() == count; });
  }

  const std::size_t count;
  const std::function<void(std::size_t)>* const task;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr failure;
};

class Pool {
 public:
  ~Pool() { stop(); }

  void resize(std::size_t threads) {
    stop();
    wanted_ = std::max<std::size_t>(threads, 1);
  }
  std::size_t size() const { return wanted_; }

  void run(std::size_t count, const std::function<void(std::size_t)>& task) {
    start();
    const auto job = std::make_shared<Job>(count, task);
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      generation_.fetch_add(1);
    }
    called_.notify_all();
    job->work();
    job->wait();
    if (job->failure) std::rethrow_exception(job->failure);
  }

 private:
  void start() {
    while (workers_.size() + 1 < wanted_) {
      try {
        workers_.emplace_back(&Pool::serve, this, workers_.size() + 1);
      } catch (const std::system_error&) {
        wanted_ = workers_.size() + 1;
      }
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    called_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  void serve(std::size_t index) {
    this_thread = index;
    std::size_t seen = 0;
    while (true) {
      // Calls come one after another: waking up takes longer than some of them.
      for (int i = 0; i < kSpins && generation_.load() == seen; ++i) std::this_thread::yield();
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        called_.wait(lock, [&] { return stopping_ || generation_.load() != seen; });
        if (stopping_) return;
        seen = generation_.load();
        job = job_;
      }
      job->work();
    }
  }

  std::size_t wanted_ = 1;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable called_;
  std::shared_ptr<Job> job_;
  std::atomic<std::size_t> generation_{0};
  bool stopping_ = false;
};

Pool& pool() {
  static Pool the_pool;
  return the_pool;
}

// "max 100000" or "150000 100000": microseconds of processor in a period.
std::size_t quota_processors(std::size_t otherwise) {
  std::ifstream group("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(group, line);) {
    if (line.starts_with("0::")) path = line.substr(3);
  }
  std::size_t least = otherwise;
  while (!path.empty()) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    double quota = 0.0;
    double period = 0.0;
    if (file >> quota >> period && quota > 0.0 && period > 0.0) {
      least = std::min(
          least, std::max<std::size_t>(static_cast<std::size_t>(quota / period + 0.999), 1));
    }
    path.resize(path == "/" ? 0 : std::max<std::size_t>(path.rfind('/'), 1));
    if (path.empty()) break;
  }
  return least;
}

}  // namespace

std::size_t available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::size_t count = std::max(1U, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    count = static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  }
  return quota_processors(count);
}

void use_threads(std::size_t count) { pool().resize(count); }

std::size_t threads_in_use() { return pool().size(); }

void parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (count <= 1 || inside || pool().size() == 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  pool().run(count, task);
}

void parallel_ranges(std::size_t count, std::size_t each,
                     const std::function<void(std::size_t, std::size_t)>& task) {
  const double work = static_cast<double>(count) * static_cast<double>(each);
  if (work < kWorthThreads || count == 0) {
    task(0, count);
    return;
  }
  const std::size_t ranges = std::min(count, 4 * threads_in_use());
  parallel(ranges, [&](std::size_t range) {
    task(range * count / ranges, (range + 1) * count / ranges);
  });
}

std::size_t current_thread() { return this_thread; }

}  // namespace mha
