#include "tensor/dtype.h"

#include <cmath>

#include "catch.h"

using namespace mha;

TEST_CASE("half formats widen exactly") {
  CHECK(widen_bf16(0x3FC0) == 1.5f);
  CHECK(widen_bf16(0xBE80) == -0.25f);
  CHECK(widen_f16(0x3E00) == 1.5f);
  CHECK(widen_f16(0x0001) == 5.9604644775390625e-08f);
  CHECK(widen_f16(0x03FF) == 6.097555160522461e-05f);
  CHECK(widen_f16(0x0400) == 6.103515625e-05f);
  CHECK(widen_f16(0x7BFF) == 65504.0f);
  CHECK(widen_f16(0xFC00) == -INFINITY);
  CHECK(std::isnan(widen_f16(0x7E00)));
  CHECK(std::isnan(widen_bf16(0x7FC0)));
  CHECK(widen_f16(0x8000) == 0.0f);
  CHECK(std::signbit(widen_f16(0x8000)));
}
