#include "base/memory.h"

#include <cstdint>

#include "base/error.h"
#include "catch.h"

using namespace mha;

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
  const auto big = allocate_aligned(std::size_t{3} << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(big.get()) % (std::size_t{2} << 20) == 0);
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
