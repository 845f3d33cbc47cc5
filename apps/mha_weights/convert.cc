#include "mha_weights/convert.h"

#include "checkpoint/save.h"
#include "mha_weights/files.h"

namespace mha {

void convert(const ConvertOptions& options) {
  const ModelOptions& asked = options.input.model;
  const OpenedModel model = open_model(open_weights(options.input), asked);
  for (const SettingInForce& setting : model.in_force) {
    log_detail(setting.name + " = " + setting.value + " (" + setting.source + ")");
  }
  for (const std::string& name : model.translated.unused) log_detail(name + " is left out");
  WholeFile file = open_weights_output(options.output, options.format);
  write_archive(file, options.format, native_archive(model, asked));
  file.commit();
}

}  // namespace mha
