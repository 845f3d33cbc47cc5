#include "files/npy.h"
#include "fuzz/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mha::read_all([&] { return mha::open_npy(mha::fuzz_bytes(data, size), "fuzz"); });
  return 0;
}
