#include <zlib.h>

#include "files/torch_file.h"
#include "fuzz/read_all.h"

namespace {

// The pickle of a zip archive whose checksums are right, with a storage "0".
mha::Archive open_pickle(const mha::Bytes& bytes) {
  const auto entry = [](const char* name, const mha::Bytes& content) {
    const auto checksum =
        crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    return mha::ZipEntry{name, std::string("fuzz: ") + name, content, content.size(),
                         static_cast<std::uint32_t>(checksum)};
  };
  return mha::open_torch_zip({entry("w/data.pkl", bytes),
                              entry("w/data/0", mha::Bytes::own(std::string(96, '\x3c')))},
                             "fuzz");
}

}  // namespace

// A file of torch.save, old or new, or the pickle in one alone.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const mha::Bytes bytes = mha::fuzz_bytes(data, size);
  mha::read_all([&] {
    if (mha::is_torch_legacy(bytes.text())) return mha::open_torch_legacy(bytes, "fuzz");
    if (!bytes.text().starts_with("PK")) return open_pickle(bytes);
    const auto entries = mha::read_zip(bytes, "fuzz");
    return mha::is_torch_zip(entries) ? mha::open_torch_zip(entries, "fuzz") : mha::Archive{};
  });
  return 0;
}
