#include "results/compare.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "files/format.h"

namespace mha {
namespace {

bool within(double got, double expected, double difference, const Tolerance& tolerance) {
  if (!std::isfinite(got) || !std::isfinite(expected)) return got == expected;
  return difference <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

// NaN is worse than everything; of equals the first stays.
bool is_worse(double difference, const std::optional<WorstElement>& worst) {
  if (!worst) return true;
  if (std::isnan(worst->difference)) return false;
  return std::isnan(difference) || difference > worst->difference;
}

// How large a difference is: three digits tell.
std::string rounded(double value) {
  if (std::isnan(value)) return "nan";  // to_chars keeps its sign
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, 3);
  return {text.data(), end.ptr};
}

// As many digits as tell the value from its neighbours.
std::string exact(double value, const Verdict& verdict) {
  return verdict.single ? format_number(static_cast<float>(value)) : format_number(value);
}

std::string place_and_values(const WorstElement& element, const Verdict& verdict) {
  return " at " + to_string(index_of(element.at, verdict.shape)) + ": got " +
         exact(element.got, verdict) + ", expected " + exact(element.expected, verdict);
}

[[noreturn]] void refuse_shape(const Shape& expected, const Shape& shape,
                               const std::string& where, const std::string& name) {
  throw Error(where + ": " + name + " is " + to_string(shape) + ", expected values are " +
              to_string(expected));
}

}  // namespace

template <typename T>
Compare<T>::Compare(std::string name, ExpectedValues<T> expected, std::size_t heads,
                    Tolerance tolerance)
    : expected_(std::move(expected)), heads_(heads), tolerance_(tolerance) {
  verdict_.name = std::move(name);
  verdict_.shape = expected_.shape();
  row_.resize(verdict_.shape.empty() ? 1 : verdict_.shape.back());
  verdict_.single = sizeof(T) == sizeof(float);
}

template <typename T>
void Compare<T>::note(std::size_t at, double got, double expected, double difference) {
  const WorstElement element{at, difference, got, expected};
  if (is_worse(difference, verdict_.absolute)) verdict_.absolute = element;
  if (expected != 0.0) {
    const double relative = difference / std::abs(expected);
    if (is_worse(relative, verdict_.relative)) {
      verdict_.relative = {at, relative, got, expected};
    }
  }
  if (!within(got, expected, difference, tolerance_)) {
    ++verdict_.out;
    if (!verdict_.first_out || at < verdict_.first_out->at) verdict_.first_out = element;
  }
}

template <typename T>
void Compare<T>::rows(const Place& place, ConstMatrixView<T> block) {
  std::size_t at = offset_of(place, expected_.shape(), heads_, block.rows, block.cols);
  for (std::size_t i = 0; i < block.rows; ++i) {
    const T* row = block.row(i);
    expected_.read(at, block.cols, row_.data());
    for (std::size_t j = 0; j < block.cols; ++j, ++at) {
      const auto got = static_cast<double>(row[j]);
      const auto expected = static_cast<double>(row_[j]);
      if (got != expected) note(at, got, expected, std::abs(got - expected));
    }
  }
  verdict_.count += block.rows * block.cols;
}

void require_shape(const Shape& expected, const Shape& shape, const std::string& where,
                   const std::string& name) {
  if (expected != shape) refuse_shape(expected, shape, where, name);
}

template <typename T>
void require_shape(ExpectedValues<T>& expected, const Shape& shape, bool from_text,
                   const std::string& where, const std::string& name) {
  if (expected.shape() == shape) return;
  const Shape& found = expected.shape();
  const bool same_matrices = found.size() >= 2 && shape.size() >= 2 &&
                             std::equal(found.end() - 2, found.end(), shape.end() - 2);
  if (!from_text || !same_matrices || element_count(found) != element_count(shape)) {
    refuse_shape(found, shape, where, name);
  }
  expected.reshape(shape);
}

std::string describe(const Verdict& verdict, const Tolerance& tolerance) {
  const std::string limits =
      "atol " + rounded(tolerance.atol) + ", rtol " + rounded(tolerance.rtol);
  if (verdict.equal()) {
    std::string text = verdict.name + ": equal within " + limits;
    if (!verdict.absolute) return text + " (no difference at all)\n";
    return text + " (largest absolute difference " + rounded(verdict.absolute->difference) +
           place_and_values(*verdict.absolute, verdict) + ")\n";
  }

  std::string text = verdict.name + ": " + std::to_string(verdict.out) + " of " +
                     std::to_string(verdict.count) +
                     (verdict.out == 1 ? " differs" : " differ") + " (" + limits + ")\n";
  text += "  largest absolute difference " + rounded(verdict.absolute->difference) +
          place_and_values(*verdict.absolute, verdict) + "\n";
  if (verdict.relative) {
    text += "  largest relative difference " + rounded(verdict.relative->difference) +
            place_and_values(*verdict.relative, verdict) + "\n";
  }
  return text + "  first out of tolerance" + place_and_values(*verdict.first_out, verdict) +
         "\n";
}

std::string describe_first(const std::vector<Verdict>& verdicts) {
  const auto differs = std::ranges::find_if_not(verdicts, &Verdict::equal);
  if (differs == verdicts.end()) {
    if (verdicts.size() == 1) return verdicts.front().name + " agrees\n";
    return "all " + std::to_string(verdicts.size()) + " steps agree\n";
  }
  std::string text = "the first step that differs is " + differs->name;
  if (differs == verdicts.begin()) return text + "\n";
  text += "; before it agree";
  for (auto verdict = verdicts.begin(); verdict != differs; ++verdict) {
    text += (verdict == verdicts.begin() ? " " : ", ") + verdict->name;
  }
  return text + "\n";
}

template class Compare<float>;
template class Compare<double>;
template void require_shape(ExpectedValues<float>&, const Shape&, bool, const std::string&,
                            const std::string&);
template void require_shape(ExpectedValues<double>&, const Shape&, bool, const std::string&,
                            const std::string&);

}  // namespace mha
