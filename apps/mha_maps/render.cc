#include "mha_maps/render.h"

#include <algorithm>

#include "base/error.h"
#include "command_line.h"
#include "files/names.h"
#include "files/whole_file.h"
#include "heads/glyphs.h"
#include "heads/page.h"
#include "heads/picture.h"
#include "heads/png.h"
#include "heads/raster.h"
#include "heads/svg.h"
#include "log.h"
#include "mha_maps/files.h"
#include "program.h"

namespace mha {
namespace {

std::string format_of(const RenderOptions& options) {
  const std::string suffix = suffix_of(options.output);
  const std::string& format = options.format.empty() ? suffix : options.format;
  if (format == "png" || format == "svg" || format == "html") return format;
  if (!options.format.empty()) refuse_word("--format", format, "png, svg or html");
  throw Error(printable(options.output) + ": the suffix " +
              (suffix.empty() ? "is missing" : "." + printable(suffix) + " is unknown") +
              ", expected .png, .svg or .html (or say --format)");
}

void render_page(WholeFile& file, const MapGrid& grid, const std::string& path) {
  const PageContents page = write_page(file, grid);
  if (page.left_out == 0) return;
  log_warning(path + ": no room for the last " + std::to_string(page.left_out) + " of " +
              std::to_string(grid.layers.size() * grid.heads.size()) +
              " maps; --layer and --head choose others");
}

void warn_of_boxes(const MapGrid& grid, const std::string& path) {
  const auto boxes = [](const std::vector<std::string>& labels) {
    return std::ranges::count_if(
        labels, [](const std::string& label) { return !has_letters_of(printable(label)); });
  };
  const auto most = std::max(boxes(grid.queries), boxes(grid.keys));
  if (most == 0) return;
  log_warning(path + ": PNG has letters of ASCII only, " + std::to_string(most) +
              (most == 1 ? " token is" : " tokens are") +
              " drawn with boxes; .svg and .html show all");
}

}  // namespace

void render(const RenderOptions& options) {
  const std::string format = format_of(options);
  const MapsFile maps = open_maps_file(options.input, options.maps);
  const MapGrid grid = choose_maps(maps, options.choice);
  WholeFile file(options.output);
  if (format == "html") {
    render_page(file, grid, options.output);
  } else if (format == "svg") {
    file.write(svg(picture_of(grid)));
  } else {
    require_no_terminal(file, options.output, "png", "");
    warn_of_boxes(grid, options.output);
    file.write(png(draw(picture_of(grid))));
  }
  file.commit();
}

}  // namespace mha
