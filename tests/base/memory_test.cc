#include "base/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catch.h"

using namespace mha;

namespace {

// Around what separates size classes, pieces cut from a huge page from pages of their own,
// and those from what is not kept.
std::vector<std::size_t> sizes_at_edges() {
  std::vector<std::size_t> sizes = {0, 1};
  for (std::size_t octave = 64; octave <= std::size_t{64} << 20; octave *= 2) {
    for (const std::size_t class_end : {octave, octave / 4 * 5, octave / 4 * 7}) {
      // 64 bytes stand before a piece.
      for (const std::size_t bytes : {class_end - 65, class_end - 64, class_end - 63}) {
        if (class_end > 64) sizes.push_back(bytes);
      }
    }
  }
  return sizes;
}

// A piece that knows what it was filled with: its first and last bytes, where it has
// more than touching would be quick.
class Marked {
 public:
  Marked(std::size_t bytes, int mark)
      : memory_(allocate_aligned(bytes)), bytes_(bytes), mark_(static_cast<std::byte>(mark)) {
    std::fill_n(memory_.get(), edge(), mark_);
    std::fill_n(end() - edge(), edge(), mark_);
  }
  bool aligned() const { return reinterpret_cast<std::uintptr_t>(memory_.get()) % 64 == 0; }
  bool untouched() const {
    const auto marked = [this](std::byte byte) { return byte == mark_; };
    return std::all_of(memory_.get(), memory_.get() + edge(), marked) &&
           std::all_of(end() - edge(), end(), marked);
  }

 private:
  std::size_t edge() const { return std::min<std::size_t>(bytes_, 500); }
  std::byte* end() const { return memory_.get() + bytes_; }

  AlignedBytes memory_;
  std::size_t bytes_;
  std::byte mark_;
};

}  // namespace

TEST_CASE("products that overflow are told apart from large ones") {
  CHECK(checked_multiply(3, 5) == 15u);
  CHECK(checked_multiply(SIZE_MAX, 1) == SIZE_MAX);
  CHECK_FALSE(checked_multiply(SIZE_MAX / 2 + 1, 2));
}

TEST_CASE("sizes read as people say them") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1000) == "1.0 kB");
  CHECK(format_bytes(999'999) == "1.0 MB");
  CHECK(format_bytes(12'884'901'888) == "12.9 GB");
}

TEST_CASE("memory is aligned, to huge pages where it is big") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    const auto memory = allocate_aligned(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 64 == 0);
  }
  const auto big = allocate_aligned(std::size_t{5} << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(big.get()) % (std::size_t{2} << 20) == 64);
}

TEST_CASE("pieces of every size are aligned and do not overlap, fresh or used again") {
  const std::vector<std::size_t> sizes = sizes_at_edges();
  for (int round = 0; round < 2; ++round) {
    std::vector<Marked> pieces;
    for (const std::size_t bytes : sizes) {
      pieces.emplace_back(bytes, static_cast<int>(pieces.size() + 1) % 256);
      INFO(bytes);
      CHECK(pieces.back().aligned());
    }
    CHECK(std::all_of(pieces.begin(), pieces.end(), [](auto& p) { return p.untouched(); }));
    // Every second one goes, and others of its size take its place.
    for (std::size_t i = 0; i < sizes.size(); i += 2) {
      { const Marked gone = std::move(pieces[i]); }
      pieces[i] = Marked(sizes[i], 77);
    }
    CHECK(std::all_of(pieces.begin(), pieces.end(), [](auto& p) { return p.untouched(); }));
  }
}

TEST_CASE("what is given back is used again, for all sizes of a class, up to 64 MB") {
  if (kWatchedMemory) return;
  const auto place_of = [](std::size_t bytes) { return allocate_aligned(bytes).get(); };
  for (const std::size_t bytes : {0, 100, 5000, 1 << 19, 1 << 20, 3 << 20, 60 << 20}) {
    INFO(bytes);
    CHECK(place_of(bytes) == place_of(bytes));
    const auto* first = allocate_aligned(bytes).get();
    const auto held = allocate_aligned(bytes);
    CHECK(held.get() == first);
    CHECK(allocate_aligned(bytes).get() != first);
  }
  CHECK(place_of(5000) == place_of(5056));  // with their header 5120 and less
  CHECK(place_of(5056) != place_of(5057));
}

TEST_CASE("threads that take and give back at once do not get each other's memory") {
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (int id = 1; id <= 6; ++id) {
    threads.emplace_back([id, &faults] {
      std::mt19937 random(static_cast<unsigned>(id));
      std::vector<Marked> held;
      for (int step = 0; step < 2000; ++step) {
        const std::size_t bytes = std::size_t{random() % 2048} << random() % 8;
        if (held.size() < 10) {
          held.emplace_back(bytes, id);
        } else {
          Marked& one = held[random() % held.size()];
          if (!one.untouched()) ++faults;
          one = Marked(bytes, id);
        }
      }
      for (const Marked& one : held) faults += one.untouched() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == 0);
}

TEST_CASE("what cannot fit is refused before it is tried") {
  CHECK(available_memory() > 0);
  CHECK_NOTHROW(require_memory(1, "a byte"));
  try {
    require_memory(SIZE_MAX, "the map", "use --maps FILE.npy");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::system);
    const std::string text = error.what();
    CHECK(text.find("the map needs 18.4 EB of memory, ") == 0);
    CHECK(text.find("; use --maps FILE.npy") != std::string::npos);
  }
  CHECK_THROWS_AS(allocate_aligned(SIZE_MAX), Error);
}
