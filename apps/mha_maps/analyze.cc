#include "mha_maps/analyze.h"

#include "base/error.h"
#include "mha_maps/files.h"

namespace mha {

void analyze(const AnalyzeOptions& options) {
  for (const std::string& input : options.inputs) {
    const MapsFile file = open_maps_file(input, options.maps);
  }
  throw Error("analyze: TO BE BUILT");
}

}  // namespace mha
