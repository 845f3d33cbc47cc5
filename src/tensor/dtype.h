#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace mha {

// Element types of files. `text` is a fixed-width string (a setting in an
// .npz), `other` anything whose bytes we cannot read as numbers.
enum class DType {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  text,
  other
};

// Bytes of one element; 0 for text and other.
std::size_t size_of(DType type);

// "f32", "bool", …
std::string_view name_of(DType type);

// The type that a float or a double is of.
template <typename T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  return std::is_same_v<T, float> ? DType::f32 : DType::f64;
}

// Exact widening; subnormals, infinities and NaN kept.
float widen_f16(std::uint16_t bits);
float widen_bf16(std::uint16_t bits);

}  // namespace mha
