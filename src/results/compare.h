#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "results/expected.h"
#include "results/sink.h"
#include "tensor/tensor.h"

namespace mha {

// numpy.allclose: abs(got - expected) <= atol + rtol * abs(expected).
// Infinities of one sign are equal, NaN equals nothing.
struct Tolerance {
  double atol = 1e-5;
  double rtol = 1e-4;
};

// An element that stands out.
struct WorstElement {
  std::size_t at = 0;       // row-major index in Verdict::shape
  double difference = 0.0;  // absolute or relative; NaN (the worst) where one side is
  double got = 0.0;
  double expected = 0.0;
};

// What a comparison found.
struct Verdict {
  std::string name;  // "y", "maps", a step
  Shape shape;
  bool single = true;                    // float or double, for how numbers are printed
  std::size_t count = 0;                 // elements compared
  std::size_t out = 0;                   // of them out of tolerance
  std::optional<WorstElement> absolute;  // largest absolute difference, where any differs
  // Largest difference / abs(expected), over expected values that are not 0.
  std::optional<WorstElement> relative;
  std::optional<WorstElement> first_out;  // the first in row-major order
  bool equal() const { return out == 0; }
};

// Compares a tensor with expected values as it is computed.
template <typename T>
class Compare final : public Sink<T> {
 public:
  // `expected` has the shape of the whole tensor, `heads` matrices to a batch
  // item. The caller has checked the shape with require_shape().
  Compare(std::string name, ExpectedValues<T> expected, std::size_t heads,
          Tolerance tolerance);
  void rows(const Place& place, ConstMatrixView<T> block) override;
  const Verdict& verdict() const { return verdict_; }

 private:
  void note(std::size_t at, double got, double expected, double difference);

  ExpectedValues<T> expected_;
  std::vector<T> row_;  // one row of them
  std::size_t heads_;
  Tolerance tolerance_;
  Verdict verdict_;
};

// Throws Error "y.npy: y is [4, 8], expected values are [4, 7]" on another
// shape. Values from text, which have no axes beyond blocks of rows, take the
// result's leading axes where the counts agree (`from_text`).
template <typename T>
void require_shape(ExpectedValues<T>& expected, const Shape& shape, bool from_text,
                   const std::string& where, const std::string& name);

// The same before the values are read.
void require_shape(const Shape& expected, const Shape& shape, const std::string& where,
                   const std::string& name);

// A few lines for a person, each ended: equal or not, largest differences with
// index and both values, how many are out.
std::string describe(const Verdict& verdict, const Tolerance& tolerance);

// A line that names the first verdict (in order of computation) that differs,
// or says that all agree.
std::string describe_first(const std::vector<Verdict>& verdicts);

}  // namespace mha
