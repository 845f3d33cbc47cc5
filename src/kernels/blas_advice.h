#pragma once

#include <string>
#include <vector>

namespace mha {

// What there is to say about a kernel of OpenBLAS that leaves SIMD units of the
// processor idle, with the remedy; "" where it does not. `kernel` as blas_kernel()
// and `targets` as simd_targets() name them; `core_type`: what OPENBLAS_CORETYPE says,
// null where it is not set.
std::string blas_advice(const std::string& kernel, const std::vector<std::string>& targets,
                        const char* core_type);

}  // namespace mha
