#include "mha_maps/show.h"

#include "base/error.h"
#include "mha_maps/files.h"

namespace mha {

void show(const ShowOptions& options) {
  const MapsFile file = open_maps_file(options.input, options.maps);
  const MapGrid grid = choose_maps(file, options.choice);
  throw Error("show: TO BE BUILT");
}

}  // namespace mha
