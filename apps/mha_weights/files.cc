#include "mha_weights/files.h"

#include "base/error.h"
#include "files/names.h"
#include "files/raw.h"

namespace mha {

Archive open_weights(const WeightsInput& input) {
  return input.raw.empty() ? open_archive(input.path) : open_raw(input.path, input.raw);
}

WholeFile open_weights_output(const std::string& path, ArchiveFormat format) {
  WholeFile file(path);
  if (format == ArchiveFormat::json || !file.is_terminal()) return file;
  throw Error((path == "-" ? "standard output" : printable(path)) +
              ": is a terminal and the weights would be binary; redirect it, or use "
              "--format json");
}

}  // namespace mha
