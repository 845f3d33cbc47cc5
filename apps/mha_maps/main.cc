#include <variant>

#include "log.h"
#include "mha_maps/analyze.h"
#include "mha_maps/options.h"
#include "mha_maps/render.h"
#include "mha_maps/show.h"
#include "program.h"

namespace {

struct Do {
  void operator()(const std::string& text) const { mha::print(text); }
  void operator()(const mha::ShowOptions& options) const { mha::show(options); }
  void operator()(const mha::RenderOptions& options) const { mha::render(options); }
  void operator()(const mha::AnalyzeOptions& options) const { mha::analyze(options); }
};

}  // namespace

int main(int argc, char** argv) {
  using namespace mha;
  return run_program("mha-maps", [&] {
    const MapsRequest request = parse_maps_options(argc, argv);
    start_log("mha-maps", request.loudness);
    std::visit(Do{}, request.command);
    return 0;
  });
}
