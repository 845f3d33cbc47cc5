#include "log.h"
#include "mha_bench/bench.h"
#include "mha_bench/options.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace mha;
  return run_program("mha-bench", [&] {
    const BenchRequest request = parse_bench_options(argc, argv);
    if (!request.text.empty()) {
      print(request.text);
      return 0;
    }
    start_log("mha-bench", request.options.loudness);
    return bench(request.options);
  });
}
