#include "mha_weights/files.h"

#include "program.h"

namespace mha {

WholeFile open_weights_output(const std::string& path, ArchiveFormat format) {
  WholeFile file(path);
  if (format != ArchiveFormat::json) {
    require_no_terminal(file, path, format == ArchiveFormat::npz ? "npz" : "safetensors",
                        ", or use --format json");
  }
  return file;
}

}  // namespace mha
