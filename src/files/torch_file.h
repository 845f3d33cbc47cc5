#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/archive.h"
#include "files/bytes.h"
#include "files/zip.h"

namespace mha {

// What torch.save writes, as far as it is tensors. The pickle in it is read and
// never run: files/pickle.h. Members are views of storages, some of which are
// shared; opening reads the pickle alone, fetching a tensor its storage alone
// (of which no checksum is compared, as in torch).

// Whether a zip archive is of torch.save (since 1.6) or torch.jit.save.
bool is_torch_zip(const std::vector<ZipEntry>& entries);

// Throws Error that names the tensor which its storage cannot hold or whose
// storage is not there. REQUIRES is_torch_zip.
Archive open_torch_zip(const std::vector<ZipEntry>& entries, const std::string& path);

// Whether a file begins as torch.save did before 1.6.
bool is_torch_legacy(std::string_view bytes);

// Throws Error like open_torch_zip. REQUIRES is_torch_legacy.
Archive open_torch_legacy(const Bytes& bytes, const std::string& path);

}  // namespace mha
