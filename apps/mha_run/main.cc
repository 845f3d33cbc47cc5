#include "log.h"
#include "mha_run/options.h"
#include "mha_run/run.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace mha;
  return run_program("mha-run", [&] {
    const Request request = parse_run_options(argc, argv);
    if (!request.text.empty()) {
      print(request.text);
      return 0;
    }
    start_log("mha-run", request.options.loudness);
    return run(request.options);
  });
}
