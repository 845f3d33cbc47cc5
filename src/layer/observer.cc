#include "layer/observer.h"

#include <algorithm>
#include <array>

namespace mha {
namespace {

constexpr std::array<std::string_view, kSteps> kNames = {"x",
                                                         "q",
                                                         "k",
                                                         "v",
                                                         "scores",
                                                         "maps",
                                                         "head_outputs",
                                                         "concat",
                                                         "contributions",
                                                         "attention_output",
                                                         "residual1",
                                                         "norm1",
                                                         "ffn_hidden",
                                                         "ffn_output",
                                                         "residual2",
                                                         "norm2",
                                                         "y",
                                                         "norm"};

// What a layer does, in order of computation.
constexpr std::array<Step, 17> kPostNorm = {Step::x,
                                            Step::q,
                                            Step::k,
                                            Step::v,
                                            Step::scores,
                                            Step::maps,
                                            Step::head_outputs,
                                            Step::concat,
                                            Step::contributions,
                                            Step::attention_output,
                                            Step::residual1,
                                            Step::norm1,
                                            Step::ffn_hidden,
                                            Step::ffn_output,
                                            Step::residual2,
                                            Step::norm2,
                                            Step::y};
constexpr std::array<Step, 17> kPreNorm = {Step::x,
                                           Step::norm1,
                                           Step::q,
                                           Step::k,
                                           Step::v,
                                           Step::scores,
                                           Step::maps,
                                           Step::head_outputs,
                                           Step::concat,
                                           Step::contributions,
                                           Step::attention_output,
                                           Step::residual1,
                                           Step::norm2,
                                           Step::ffn_hidden,
                                           Step::ffn_output,
                                           Step::residual2,
                                           Step::y};

}  // namespace

std::string_view name_of(Step step) { return kNames.at(static_cast<std::size_t>(step)); }

std::optional<Step> step_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Step>(found - kNames.begin());
}

std::vector<Step> steps_of(const LayerSettings& settings) {
  const auto& steps = settings.norm == NormPlacement::pre ? kPreNorm : kPostNorm;
  const auto* const last = settings.part == Part::layer
                               ? steps.end()
                               : std::ranges::find(steps, Step::attention_output) + 1;
  return {steps.begin(), last};
}

Shape shape_of(Step step, const LayerSizes& sizes, std::size_t n_queries, std::size_t n_keys) {
  const AttentionSizes& attention = sizes.attention;
  const std::size_t columns = attention.columns(n_keys);
  switch (step) {
    case Step::q: return {attention.n_heads, n_queries, attention.d_head};
    case Step::k: return {attention.n_kv_heads, columns, attention.d_head};
    case Step::v: return {attention.n_kv_heads, columns, attention.d_v};
    case Step::scores:
    case Step::maps: return {attention.n_heads, n_queries, columns};
    case Step::head_outputs: return {attention.n_heads, n_queries, attention.d_v};
    case Step::concat: return {n_queries, attention.n_heads * attention.d_v};
    case Step::contributions: return {attention.n_heads, n_queries, attention.d_model};
    case Step::ffn_hidden: return {n_queries, sizes.d_ff};
    case Step::x:
    case Step::attention_output:
    case Step::residual1:
    case Step::norm1:
    case Step::ffn_output:
    case Step::residual2:
    case Step::norm2:
    case Step::y:
    case Step::norm: break;
  }
  return {n_queries, attention.d_model};
}

}  // namespace mha
