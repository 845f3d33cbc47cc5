#include "mha_maps/show.h"

#include "heads/heatmap.h"
#include "mha_maps/files.h"
#include "program.h"
#include "terminal.h"

namespace mha {

void show(const ShowOptions& options) {
  const Screen screen = screen_of(options.color, options.width);
  const MapsFile file = open_maps_file(options.input, options.maps);
  print(heatmap(choose_maps(file, options.choice),
                {screen.colours, screen.columns, options.top}));
}

}  // namespace mha
