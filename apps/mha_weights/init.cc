#include "mha_weights/init.h"

#include <optional>

#include "base/memory.h"
#include "checkpoint/save.h"
#include "files/format.h"
#include "files/whole_file.h"
#include "mha_weights/files.h"
#include "program.h"

namespace mha {

void init(const InitOptions& options) {
  TorchRandom random(options.seed);
  const Encoder<float> encoder = torch_init(options.arguments, random);
  WholeFile weights = open_weights_output(options.output, options.format);
  write_archive(weights, options.format, native_archive(encoder));
  std::optional<WholeFile> sample;
  if (!options.sample.empty()) {
    const std::size_t count = element_count(options.sample_shape, "--sample");
    require_memory(count > SIZE_MAX / sizeof(float) ? SIZE_MAX : count * sizeof(float),
                   "--sample " + to_string(options.sample_shape));
    Tensor<float> x(options.sample_shape);
    random.normal(x.values(), 0.0, 1.0);
    sample.emplace(options.sample);
    require_no_terminal(*sample, options.sample, "npy", "");
    write_tensor(*sample, Format::npy, x, "x");
  }
  weights.commit();
  if (sample) sample->commit();
}

}  // namespace mha
