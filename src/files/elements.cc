#include "files/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "files/utf8.h"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they lie");

template <typename Stored>
Stored load(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(Stored)> raw;
  std::memcpy(raw.data(), from, sizeof(Stored));
  if (big_endian) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<Stored>(raw);
}

// Calls visit(stored type, how it becomes a number).
template <typename Visit>
auto with_type(DType dtype, Visit&& visit) {
  const auto same = [](auto value) { return value; };
  switch (dtype) {
    // Whatever is not 0 is true; numpy itself writes 0 and 1.
    case DType::boolean: return visit(std::uint8_t{}, [](std::uint8_t b) { return b != 0; });
    case DType::u8: return visit(std::uint8_t{}, same);
    case DType::i8: return visit(std::int8_t{}, same);
    case DType::u16: return visit(std::uint16_t{}, same);
    case DType::i16: return visit(std::int16_t{}, same);
    case DType::u32: return visit(std::uint32_t{}, same);
    case DType::i32: return visit(std::int32_t{}, same);
    case DType::u64: return visit(std::uint64_t{}, same);
    case DType::i64: return visit(std::int64_t{}, same);
    case DType::f16: return visit(std::uint16_t{}, widen_f16);
    case DType::bf16: return visit(std::uint16_t{}, widen_bf16);
    case DType::f32: return visit(float{}, same);
    case DType::f64: return visit(double{}, same);
    case DType::text:
    case DType::other: break;
  }
  assert(false && "a number type");
  return visit(std::uint8_t{}, same);
}

template <typename Number>
std::string number_text(Number value) {
  std::array<char, 64> text{};
  const auto [end, failure] = std::to_chars(text.data(), text.data() + text.size(), value);
  assert(failure == std::errc());
  return {text.data(), end};
}

std::string number_text(bool value) { return value ? "true" : "false"; }

struct Axis {
  std::size_t length;
  std::size_t stride;  // of the source
};

// The same walk over the fewest axes: those of length 1 dropped, those that
// continue one another made one. At least one axis is left.
std::vector<Axis> fewest_axes(const Shape& shape, const Shape& strides) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!axes.empty() && axes.back().stride == strides[i] * shape[i]) {
      axes.back() = {axes.back().length * shape[i], strides[i]};
    } else {
      axes.push_back({shape[i], strides[i]});
    }
  }
  if (axes.empty()) axes.push_back({1, 1});
  return axes;
}

}  // namespace

template <typename T>
void copy_elements(const std::byte* from, std::size_t step, std::size_t count,
                   ElementForm form, T* to) {
  with_type(form.dtype, [&](auto stored, auto widen) {
    using Stored = decltype(stored);
    if constexpr (std::is_same_v<Stored, T>) {
      if (step == 1 && !form.big_endian) {
        std::memcpy(to, from, count * sizeof(T));
        return;
      }
    }
    const std::size_t stride = step * sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<T>(widen(load<Stored>(from + i * stride, form.big_endian)));
    }
  });
}

template void copy_elements(const std::byte*, std::size_t, std::size_t, ElementForm, float*);
template void copy_elements(const std::byte*, std::size_t, std::size_t, ElementForm, double*);

template <typename T>
void copy_strided(const std::byte* from, const Shape& shape, const Shape& strides,
                  ElementForm form, T* to) {
  assert(shape.size() == strides.size());
  std::vector<Axis> axes = fewest_axes(shape, strides);
  const Axis row = axes.back();
  axes.pop_back();
  // The other axes from the outermost to the innermost: the one whose elements
  // lie nearest one another last, so that a cache line of the source is used up
  // before it is dropped. `step` is what its neighbours are apart in `to`.
  struct Loop {
    Axis axis;
    std::size_t step;
  };
  std::vector<Loop> loops(axes.size());
  std::size_t step = row.length;
  for (std::size_t i = axes.size(); i-- > 0; step *= axes[i].length)
    loops[i] = {axes[i], step};
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.axis.stride > b.axis.stride; });
  const bool transposed =
      row.stride > 1 && !loops.empty() && loops.back().axis.stride < row.stride;
  constexpr std::size_t kLines = 16;  // of the source at once
  const std::size_t columns = transposed ? kLines : row.length;
  const std::size_t item = size_of(form.dtype);
  const auto copy = [&](auto&& self, std::size_t loop, const std::byte* source, T* target,
                        std::size_t count) -> void {
    if (loop == loops.size()) return copy_elements(source, row.stride, count, form, target);
    for (std::size_t i = 0; i < loops[loop].axis.length; ++i) {
      self(self, loop + 1, source + i * loops[loop].axis.stride * item,
           target + i * loops[loop].step, count);
    }
  };
  for (std::size_t first = 0; first < row.length; first += columns) {
    copy(copy, 0, from + first * row.stride * item, to + first,
         std::min(columns, row.length - first));
  }
}

template void copy_strided(const std::byte*, const Shape&, const Shape&, ElementForm, float*);
template void copy_strided(const std::byte*, const Shape&, const Shape&, ElementForm, double*);

std::string element_text(const std::byte* from, ElementForm form) {
  return with_type(form.dtype, [&](auto stored, auto widen) {
    return number_text(widen(load<decltype(stored)>(from, form.big_endian)));
  });
}

std::string fixed_text(const std::byte* from, std::size_t bytes, bool wide, bool big_endian,
                       const std::string& where) {
  if (!wide) {
    std::string text(reinterpret_cast<const char*>(from), bytes);
    text.erase(text.find_last_not_of('\0') + 1);
    return text;
  }
  std::string text;
  std::size_t kept = 0;  // up to the last character that is no padding
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const auto code = load<std::uint32_t>(from + i, big_endian);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      throw Error(where + ": character " + std::to_string(i / 4) + " is " +
                  std::to_string(code) + ", which is no Unicode code point");
    }
    append_utf8(text, code);
    if (code != 0) kept = text.size();
  }
  text.resize(kept);
  return text;
}

}  // namespace mha
