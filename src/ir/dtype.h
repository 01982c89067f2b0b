// The element types of MLX, with the short names both IRs print.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace autoperfect {

enum class Dtype : uint8_t { bool_, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, c64 };

std::string_view name(Dtype dtype);  // "bool", "u8", ... "f32", "c64"
std::optional<Dtype> parse_dtype(std::string_view text);
int64_t size_of(Dtype dtype);  // bytes of one element

constexpr bool is_floating(Dtype d) {
  return d == Dtype::f16 || d == Dtype::bf16 || d == Dtype::f32 || d == Dtype::f64;
}
constexpr bool is_half(Dtype d) {
  return d == Dtype::f16 || d == Dtype::bf16;
}
constexpr bool is_signed_integer(Dtype d) {
  return d >= Dtype::i8 && d <= Dtype::i64;
}
constexpr bool is_unsigned_integer(Dtype d) {
  return d >= Dtype::u8 && d <= Dtype::u64;
}
constexpr bool is_integer(Dtype d) {
  return is_signed_integer(d) || is_unsigned_integer(d);
}

}  // namespace autoperfect
