#include "kernels/activation.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "catch.h"

namespace mha {
namespace {

template <typename T>
struct Case {
  const char* name;
  void (*in_place)(MatrixView<T>) noexcept;
  long double (*formula)(long double);
};

long double sigmoid(long double u) { return 1 / (1 + std::exp(-u)); }

// As the papers write them, in long double.
template <typename T>
const std::array<Case<T>, 5> kCases = {{
    {"relu", relu<T>, [](long double x) { return x > 0 ? x : 0; }},
    {"gelu", gelu<T>,
     [](long double x) {
       return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<long double>));
     }},
    {"gelu_tanh", gelu_tanh<T>,
     [](long double x) {
       const long double root = std::sqrt(2 / std::numbers::pi_v<long double>);
       return x / 2 * (1 + std::tanh(root * (x + 0.044715L * x * x * x)));
     }},
    {"quick_gelu", quick_gelu<T>, [](long double x) { return x * sigmoid(1.702L * x); }},
    {"silu", silu<T>, [](long double x) { return x * sigmoid(x); }},
}};

template <typename T>
T applied(void (*in_place)(MatrixView<T>) noexcept, T x) {
  in_place({&x, 1, 1});
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("activations are their formulas", "", float, double) {
  for (const auto& [name, in_place, formula] : kCases<TestType>) {
    for (int i = -2400; i <= 2400; ++i) {
      const auto x = static_cast<TestType>(i / 200.0);
      const long double expected = formula(x);
      const TestType found = applied(in_place, x);
      // A handful of roundings, of which those of the exponent count as often
      // as it is large; what is left of the formula's own 1 - 1 in long double.
      const auto unit = static_cast<long double>(std::numeric_limits<TestType>::epsilon());
      const long double roundings = 4 + 2 * x * x;
      INFO(name << "(" << x << ") is " << found << ", expected " << expected);
      CHECK(std::abs(found - expected) <= roundings * unit * std::abs(expected) + 1e-18L);
    }
  }
}

TEMPLATE_TEST_CASE("the kinds of gelu give the numbers that tell them apart", "", float,
                   double) {
  const auto check = [](TestType found, double expected) {
    CHECK(std::abs(static_cast<double>(found) - expected) <= 5.1e-7);  // six decimals
  };
  check(applied<TestType>(gelu, 1), .841345);
  check(applied<TestType>(gelu, -2), -.045500);
  check(applied<TestType>(gelu_tanh, 1), .841192);
  check(applied<TestType>(gelu_tanh, -2), -.045402);
  check(applied<TestType>(quick_gelu, 1), .845796);
  check(applied<TestType>(silu, 1), .731059);
}

TEMPLATE_TEST_CASE("large numbers pass or vanish, and none becomes NaN", "", float, double) {
  const TestType most = std::numeric_limits<TestType>::max();
  for (const auto& [name, in_place, formula] : kCases<TestType>) {
    for (const TestType large : {TestType(100), TestType(1e20), most}) {
      CAPTURE(name, large);
      CHECK(applied(in_place, large) == large);
      CHECK(std::abs(applied(in_place, -large)) <= TestType(1e-30));
    }
    CHECK(applied(in_place, TestType(0)) == TestType(0));
    CHECK(std::isnan(applied(in_place, std::numeric_limits<TestType>::quiet_NaN())));
  }
}

TEST_CASE("every element of a view is activated and its padding is not") {
  for (const auto& [name, in_place, formula] : kCases<float>) {
    std::vector<float> values(3 * 5, -1.0F);
    in_place({values.data(), 3, 4, 5});
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(name, i);
      CHECK((values[i] == -1.0F) == (i % 5 == 4));
    }
  }
}

}  // namespace mha
