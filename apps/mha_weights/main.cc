#include <variant>

#include "log.h"
#include "mha_weights/convert.h"
#include "mha_weights/init.h"
#include "mha_weights/inspect.h"
#include "mha_weights/options.h"
#include "program.h"

namespace {

struct Do {
  void operator()(const std::string& text) const { mha::print(text); }
  void operator()(const mha::InspectOptions& options) const { mha::inspect(options); }
  void operator()(const mha::ConvertOptions& options) const { mha::convert(options); }
  void operator()(const mha::InitOptions& options) const { mha::init(options); }
};

}  // namespace

int main(int argc, char** argv) {
  using namespace mha;
  return run_program("mha-weights", [&] {
    const WeightsRequest request = parse_weights_options(argc, argv);
    start_log("mha-weights", request.loudness);
    std::visit(Do{}, request.command);
    return 0;
  });
}
