#include "layer/observer.h"

#include <algorithm>

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
                                                         "attention_output"};

}  // namespace

std::string_view name_of(Step step) { return kNames.at(static_cast<std::size_t>(step)); }

std::optional<Step> step_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Step>(found - kNames.begin());
}

std::array<Step, kSteps> all_steps() {
  std::array<Step, kSteps> steps{};
  for (std::size_t i = 0; i < kSteps; ++i) steps[i] = static_cast<Step>(i);
  return steps;
}

Shape shape_of(Step step, const AttentionSizes& sizes, std::size_t n_queries,
               std::size_t n_keys) {
  switch (step) {
    case Step::x: return {n_queries, sizes.d_model};
    case Step::q: return {sizes.n_heads, n_queries, sizes.d_head};
    case Step::k: return {sizes.n_kv_heads, n_keys, sizes.d_head};
    case Step::v: return {sizes.n_kv_heads, n_keys, sizes.d_v};
    case Step::scores:
    case Step::maps: return {sizes.n_heads, n_queries, n_keys};
    case Step::head_outputs: return {sizes.n_heads, n_queries, sizes.d_v};
    case Step::concat: return {n_queries, sizes.n_heads * sizes.d_v};
    case Step::contributions: return {sizes.n_heads, n_queries, sizes.d_model};
    case Step::attention_output: return {n_queries, sizes.d_model};
  }
  return {};
}

}  // namespace mha
