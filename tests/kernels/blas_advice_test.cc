#include "kernels/blas_advice.h"

#include <string>
#include <vector>

#include "catch.h"

namespace mha {
namespace {

const std::vector<std::string> kWide = {"AVX-512", "AVX2", "SSE4", "baseline"};
const std::vector<std::string> kAvx2 = {"AVX2", "SSE4", "baseline"};
const std::vector<std::string> kSse4 = {"SSE4", "baseline"};

TEST_CASE("a kernel of the BLAS that uses the widest unit needs no advice") {
  CHECK(blas_advice("SkylakeX", kWide, nullptr).empty());
  CHECK(blas_advice("Cooperlake", kWide, nullptr).empty());
  CHECK(blas_advice("Haswell", kAvx2, nullptr).empty());
  CHECK(blas_advice("Zen", kAvx2, "Zen").empty());
  CHECK(blas_advice("Nehalem", kSse4, nullptr).empty());
  // Not of x86-64, or not yet known here.
  CHECK(blas_advice("neoversen1", {"baseline"}, nullptr).empty());
  CHECK(blas_advice("Unknown", kWide, nullptr).empty());
}

TEST_CASE("a kernel of the BLAS that leaves a unit idle is named with the remedy") {
  CHECK(blas_advice("Haswell", kWide, nullptr) ==
        "OpenBLAS multiplies with its kernel for Haswell, without the AVX-512 of this "
        "processor; a newer OpenBLAS may know it, OPENBLAS_CORETYPE=SkylakeX chooses for "
        "this one");
  const std::string older = blas_advice("Prescott", kAvx2, nullptr);
  CHECK(older.find("without the AVX2") != std::string::npos);
  CHECK(older.find("OPENBLAS_CORETYPE=Haswell chooses") != std::string::npos);
  CHECK_FALSE(blas_advice("Prescott", kWide, nullptr).empty());
}

TEST_CASE("who set OPENBLAS_CORETYPE is told what that costs") {
  CHECK(blas_advice("Haswell", kWide, "Haswell") ==
        "OpenBLAS multiplies with its kernel for Haswell, without the AVX-512 of this "
        "processor: OPENBLAS_CORETYPE=Haswell is set; unset it, or set it to SkylakeX");
}

}  // namespace
}  // namespace mha
