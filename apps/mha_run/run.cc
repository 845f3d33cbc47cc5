#include "mha_run/run.h"

#include "files/names.h"
#include "files/whole_file.h"
#include "kernels/gemm.h"
#include "layer/encoder.h"
#include "mha_run/inputs.h"
#include "mha_run/outputs.h"
#include "results/plan.h"

namespace mha {
namespace {

template <typename T>
void log_settings(const RunInputs<T>& inputs) {
  log_detail("weights " + inputs.archive.path + ": " + inputs.archive.container);
  const Translated& translated = inputs.model.translated;
  log_detail("scheme = " + translated.scheme);
  for (const std::string& line : translated.evidence) log_detail("  " + line);
  for (const SettingInForce& setting : inputs.model.in_force) {
    log_detail(setting.name + " = " + setting.value + " (" + setting.source + ")");
  }
  if (!translated.unused.empty()) {
    log_detail("left aside: " + list_of(translated.unused, 100));
  }
  log_detail(std::string("precision = ") + (sizeof(T) == sizeof(double) ? "f64" : "f32"));
  log_detail(std::string("BLAS kernel = ") + blas_kernel());
}

void warn(const AttentionFindings& findings) {
  if (findings.empty_rows > 0) {
    log_warning(std::to_string(findings.empty_rows) +
                " map rows, over all heads and items, have no key left: they are zeros");
  }
  if (findings.leaking_keys > 0) {
    log_warning("--add-mask: " + std::to_string(findings.leaking_keys) +
                " map entries have weight where -1000 or less was added; -inf hides a key "
                "whatever the other scores are");
  }
}

// A head count that is not the config's computes another model.
void warn(const OpenedModel& model) {
  for (const SettingInForce& heads : model.overruled) {
    log_warning(heads.name + " = " + heads.value + " (" + heads.source + ")");
  }
}

template <typename T>
int run_in(const RunOptions& options) {
  const RunInputs<T> inputs = read_inputs<T>(options);
  log_settings(inputs);
  warn(inputs.model);
  if (options.dry_run) {
    print_beside(options, describe_plan(inputs.run, sizeof(T)));
    return 0;
  }
  RunOutputs<T> outputs(options, inputs);
  AttentionFindings findings;
  const Tensor<T> y =
      encode(inputs.encoder, inputs.mask, inputs.tensors(), outputs.observers(), findings);
  warn(findings);
  return outputs.finish(y);
}

}  // namespace

int run(const RunOptions& options) {
  return options.f64 ? run_in<double>(options) : run_in<float>(options);
}

}  // namespace mha
