#pragma once

#include <string>

#include "files/archive_writer.h"
#include "files/whole_file.h"

namespace mha {

// Throws Error where binary would go to a terminal.
WholeFile open_weights_output(const std::string& path, ArchiveFormat format);

}  // namespace mha
