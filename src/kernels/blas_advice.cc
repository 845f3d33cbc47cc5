#include "kernels/blas_advice.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace mha {
namespace {

// Of what OpenBLAS's kernels for x86-64 are called (driver/others/dynamic.c), those for
// AVX2, and those for less.
constexpr std::array<std::string_view, 3> kAvx2 = {"Haswell", "Zen", "Excavator"};
constexpr std::array<std::string_view, 16> kOlder = {
    "Prescott", "Banias",      "Atom",       "Core2",      "Penryn",       "Dunnington",
    "Nehalem",  "Sandybridge", "Athlon",     "Opteron",    "Opteron_SSE3", "Barcelona",
    "Bobcat",   "Bulldozer",   "Piledriver", "Steamroller"};

bool holds(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}

}  // namespace

std::string blas_advice(const std::string& kernel, const std::vector<std::string>& targets,
                        const char* core_type) {
  const bool older = holds(kOlder, kernel);
  const bool wide = holds(targets, "AVX-512");
  if (!(older && holds(targets, "AVX2")) && !(holds(kAvx2, kernel) && wide)) return "";
  const std::string unit = wide ? "AVX-512" : "AVX2";
  const std::string better = wide ? "SkylakeX" : "Haswell";
  const std::string found = "OpenBLAS multiplies with its kernel for " + kernel +
                            ", without the " + unit + " of this processor";
  if (core_type != nullptr) {
    return found + ": OPENBLAS_CORETYPE=" + core_type + " is set; unset it, or set it to " +
           better;
  }
  return found + "; a newer OpenBLAS may know it, OPENBLAS_CORETYPE=" + better +
         " chooses for this one";
}

}  // namespace mha
