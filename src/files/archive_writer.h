#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/archive.h"
#include "files/whole_file.h"

namespace mha {

// The containers that many tensors are written in; .bin is safetensors.
enum class ArchiveFormat { json, npz, safetensors };

// "json", "npz", "safetensors", "bin"; nothing for another word.
std::optional<ArchiveFormat> archive_format_named(std::string_view name);

// From the suffix. Throws Error that lists them for another one.
ArchiveFormat archive_format_of_path(const std::string& path);

// Writes the tensors, whatever their dtypes and views, the settings and the
// lists, so that open_archive() finds the same numbers and texts: as F32 where
// that holds each number of a tensor, else as F64. One tensor is held at a time.
// Numbers among the settings become numbers where the container has some; a list
// is a setting of safetensors, as JSON.
// REQUIRES texts in UTF-8 without NUL, lists that are not empty. Throws Error for
// a tensor of dtype text or other, in JSON for one that is not finite, in .npz
// for a list that is too long.
void write_archive(WholeFile& file, ArchiveFormat format, const Archive& archive);

}  // namespace mha
