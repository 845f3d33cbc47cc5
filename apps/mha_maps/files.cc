#include "mha_maps/files.h"

#include "log.h"

namespace mha {

MapsFile open_maps_file(const std::string& spec, const MapsOptions& options) {
  MapsFile file = open_maps(spec, options);
  if (file.guessed) {
    log_warning(file.where +
                " has four axes, the first one was taken for layers; --axes layers or --axes "
                "batch says which");
  }
  return file;
}

}  // namespace mha
