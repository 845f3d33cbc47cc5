#include "files/npz.h"
#include "fuzz/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mha::read_all([&] {
    return mha::open_npz(mha::read_zip(mha::fuzz_bytes(data, size), "fuzz"), "fuzz");
  });
  return 0;
}
