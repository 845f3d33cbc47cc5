#include "layer/settings.h"

#include <array>

namespace mha {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kCausal = {"off", "start", "end"};
constexpr std::array<std::string_view, 3> kRope = {"none", "halves", "pairs"};
constexpr std::array<std::string_view, 2> kPlacement = {"post", "pre"};
constexpr std::array<std::string_view, 2> kNormType = {"layer", "rms"};
constexpr std::array<std::string_view, 5> kActivation = {"relu", "gelu", "gelu_tanh",
                                                         "quick_gelu", "silu"};
constexpr std::array<std::string_view, 2> kPart = {"attention", "layer"};

}  // namespace

template <>
Names value_names<Causal>() {
  return kCausal;
}
template <>
Names value_names<Rope>() {
  return kRope;
}
template <>
Names value_names<NormPlacement>() {
  return kPlacement;
}
template <>
Names value_names<NormType>() {
  return kNormType;
}
template <>
Names value_names<Activation>() {
  return kActivation;
}
template <>
Names value_names<Part>() {
  return kPart;
}

}  // namespace mha
