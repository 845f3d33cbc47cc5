#include "mha_run/run.h"

#include "files/whole_file.h"
#include "kernels/gemm.h"
#include "layer/attention.h"
#include "mha_run/inputs.h"
#include "mha_run/outputs.h"
#include "results/plan.h"

namespace mha {
namespace {

template <typename T>
void log_settings(const RunInputs<T>& inputs) {
  log_detail("weights " + inputs.archive.path + ": " + inputs.archive.container);
  for (const SettingInForce& setting : inputs.model.in_force) {
    log_detail(setting.name + " = " + setting.value + " (" + setting.source + ")");
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

template <typename T>
int run_in(const RunOptions& options) {
  const RunInputs<T> inputs = read_inputs<T>(options);
  log_settings(inputs);
  if (options.dry_run) {
    const auto& [sizes, axes, batched] = inputs.run;
    print_beside(options, describe(plan_of(sizes, axes, sizeof(T)), sizes, axes, sizeof(T)));
    return 0;
  }
  RunOutputs<T> outputs(options, inputs);
  AttentionFindings findings;
  if (outputs.observer().wants(Step::x)) {
    const Tensor<T>& x = inputs.tensors().x;
    for (std::size_t item = 0; item < x.matrix_count(); ++item) {
      outputs.observer().rows(Step::x, {item, 0, 0}, x.matrix(item));
    }
  }
  const Tensor<T> y = attention(inputs.model.weights, inputs.model.settings, inputs.mask,
                                inputs.tensors(), outputs.observer(), findings);
  warn(findings);
  return outputs.finish(y);
}

}  // namespace

int run(const RunOptions& options) {
  return options.f64 ? run_in<double>(options) : run_in<float>(options);
}

}  // namespace mha
