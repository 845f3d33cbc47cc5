#include "mha_run/run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "base/parallel.h"
#include "files/names.h"
#include "files/whole_file.h"
#include "heads/delimiters.h"
#include "kernels/blas_advice.h"
#include "kernels/gemm.h"
#include "kernels/linear.h"
#include "kernels/simd.h"
#include "layer/encoder.h"
#include "mha_run/inputs.h"
#include "mha_run/outputs.h"
#include "results/head_report.h"
#include "results/plan.h"
#include "results/watch_heads.h"
#include "threads.h"

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
  log_detail(std::string("SIMD target = ") + simd_target());
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

// Floating-point operations of a run; below so many, threads take longer to start than
// they save.
constexpr double kWorthStarting = 1.5e9;

// About what --dry-run adds up step by step.
double flops_of(const TracedRun& run) {
  const auto queries = static_cast<double>(run.axes.batch * run.axes.n_queries);
  const auto keys = static_cast<double>(run.axes.n_keys);
  double flops = 0.0;
  for (const TracedLayer& layer : run.layers) {
    const AttentionSizes& sizes = layer.sizes.attention;
    const auto d_model = static_cast<double>(sizes.d_model);
    const auto width = static_cast<double>(sizes.n_heads * sizes.d_head);
    const auto d_ff = static_cast<double>(layer.sizes.d_ff);
    flops += queries * (8.0 * d_model * width + 4.0 * keys * width + 4.0 * d_model * d_ff);
  }
  return flops;
}

// A warning where the work is worth it, else a detail.
void advise_on_blas(double flops) {
  constexpr double kWorthIt = 1e10;  // a tenth of a second
  const std::string advice =
      blas_advice(blas_kernel(), simd_targets(), std::getenv("OPENBLAS_CORETYPE"));
  if (advice.empty()) return;
  if (flops >= kWorthIt) {
    log_warning(advice);
  } else {
    log_detail(advice);
  }
}

// y of the run with every head reading with its own map.
template <typename T>
Tensor<T> late_fusion(const RunInputs<T>& inputs) {
  StackObserver<T> nobody;
  AttentionFindings unread;
  return encode(inputs.encoder, inputs.mask, inputs.tensors(), nobody, unread);
}

template <typename T>
typename WatchHeads<T>::Run run_of_heads(RunInputs<T>& inputs, const RunOptions& options) {
  const std::span<const std::string> labels = inputs.key_labels;
  return {inputs.run,
          inputs.encoder,
          inputs.mask,
          inputs.tensors(),
          delimiters_of(labels.first(std::min(labels.size(), inputs.run.axes.n_keys))),
          options.ablate};
}

// How many runs a run with these options is like.
double runs_in(const RunOptions& options, const TracedRun& run) {
  double runs = options.early_fusion ? 2.0 : 1.0;
  if (options.head_report) {
    // A run without each head, of half the layers in the mean.
    const auto layers = static_cast<double>(run.layers.size());
    runs += layers * static_cast<double>(run.axes.n_heads) * (layers + 1.0) / (2.0 * layers);
  }
  return runs;
}

template <typename T>
int run_in(const RunOptions& options) {
  RunInputs<T> inputs = read_inputs<T>(options);
  log_settings(inputs);
  warn(inputs.model);
  if (options.dry_run) {
    print_beside(options, describe_plan(inputs.run, sizeof(T)));
    return 0;
  }
  const double flops = flops_of(inputs.run) * runs_in(options, inputs.run);
  if (options.f64 || blas_multiplies()) advise_on_blas(flops);
  if (flops < kWorthStarting) {
    use_threads(1);
    use_blas_threads(1);
    log_detail("so little work is done on one thread");
  }
  RunOutputs<T> outputs(options, inputs);
  std::optional<WatchHeads<T>> heads;
  if (options.head_report) {
    heads.emplace(run_of_heads(inputs, options));
    heads->watch(outputs.sinks());
  }
  Tensor<T> late;
  if (options.early_fusion) {
    late = late_fusion(inputs);
    for (Layer<T>& layer : inputs.encoder.layers) layer.settings.attention.early_fusion = true;
  }
  AttentionFindings findings;
  const Tensor<T> y =
      encode(inputs.encoder, inputs.mask, inputs.tensors(), outputs.sinks(), findings);
  warn(findings);
  HeadReport report;
  if (heads) report.heads = heads->heads(y);
  if (options.early_fusion) {
    const Tensor<T>& before = late;
    report.early_fusion = change_of(rows_of(before), rows_of(y));
  }
  return outputs.finish(y, report);
}

}  // namespace

int run(const RunOptions& options) {
  set_up_threads(options.threads);
  use_gemm(options.gemm);
  return options.f64 ? run_in<double>(options) : run_in<float>(options);
}

}  // namespace mha
