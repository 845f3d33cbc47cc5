// Whatever it is: the container is found from the content, then read.
#include "files/archive.h"
#include "fuzz/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mha::read_all([&] { return mha::read_archive(mha::fuzz_bytes(data, size), "fuzz"); });
  return 0;
}
