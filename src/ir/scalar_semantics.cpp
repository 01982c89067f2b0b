#include "ir/scalar_semantics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/scalar_parts.h"
#include "support/result.h"

namespace autoperfect {

namespace {

constexpr double two_to_31 = 2147483648.0;
constexpr double two_to_63 = 9223372036854775808.0;

float to_bf16(float value) {
  if (std::isnan(value)) return value;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

// To a multiple of the unit in the last of 11 bits (of the smallest normal number, for what is below it).
float to_f16(float value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double magnitude = std::fabs(value);
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(magnitude / unit) * unit;
  const double finite = rounded > 65504 ? std::numeric_limits<double>::infinity() : rounded;
  return static_cast<float>(std::copysign(finite, value));
}

// Truncation as x86 does it: what does not fit gives the most negative integer.
int64_t to_i32(double value) {
  return value > -two_to_31 - 1 && value < two_to_31 ? static_cast<int64_t>(value) : -(int64_t{1} << 31);
}
int64_t to_i64(double value) {
  return value >= -two_to_63 && value < two_to_63 ? static_cast<int64_t>(value)
                                                  : std::numeric_limits<int64_t>::min();
}

int64_t to_integer(Dtype to, double value) {
  switch (to) {
    case Dtype::bool_:
      return value != 0;
    case Dtype::i64:
      return to_i64(value);
    case Dtype::u64:
      return value >= two_to_63 ? to_i64(value - two_to_63) ^ std::numeric_limits<int64_t>::min()
                                : to_i64(value);
    case Dtype::u32:
      return wrap_to(to, value >= two_to_31 ? to_i32(value - two_to_31) ^ (int64_t{1} << 31) : to_i32(value));
    default:
      return wrap_to(to, to_i32(value));
  }
}

// From an integer straight to f32: by way of double it would be rounded twice.
double from_integer(Dtype from, Dtype to, int64_t value) {
  const bool is_unsigned = from == Dtype::u64;
  if (to == Dtype::f64) return is_unsigned ? static_cast<double>(static_cast<uint64_t>(value)) : value;
  const float single =
      is_unsigned ? static_cast<float>(static_cast<uint64_t>(value)) : static_cast<float>(value);
  return round_to(to, single);
}

}  // namespace

double round_to(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::f64:
      return value;
    case Dtype::f32:
      return static_cast<float>(value);
    case Dtype::f16:
      return to_f16(static_cast<float>(value));
    case Dtype::bf16:
      return to_bf16(static_cast<float>(value));
    case Dtype::u64:
      return static_cast<double>(static_cast<uint64_t>(to_integer(dtype, value)));
    case Dtype::c64:
      throw InternalError("a complex number is no double");
    default:
      return static_cast<double>(to_integer(dtype, value));
  }
}

int64_t wrap_to(Dtype dtype, int64_t value) {
  switch (dtype) {
    case Dtype::bool_:
      return value != 0;
    case Dtype::u8:
      return static_cast<uint8_t>(value);
    case Dtype::u16:
      return static_cast<uint16_t>(value);
    case Dtype::u32:
      return static_cast<uint32_t>(value);
    case Dtype::i8:
      return static_cast<int8_t>(value);
    case Dtype::i16:
      return static_cast<int16_t>(value);
    case Dtype::i32:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

Scalar convert(Dtype from, Dtype to, Scalar value, bool rounds) {
  if (to == Dtype::c64) {
    if (from == Dtype::c64)
      return rounds ? Scalar{round_to(Dtype::f32, value.real), 0, round_to(Dtype::f32, value.imaginary)}
                    : value;
    return convert(from, Dtype::f32, value, rounds);
  }
  if (from == Dtype::c64) {
    if (to == Dtype::bool_) return {0, value.real != 0 || value.imaginary != 0};
    return convert(Dtype::f32, to, {value.real, 0}, rounds);
  }
  if (is_floating(from)) {
    if (!is_floating(to)) return {0, to_integer(to, value.real)};
    return {rounds ? round_to(to, value.real) : value.real, 0};
  }
  if (is_floating(to)) return {from_integer(from, rounds ? to : Dtype::f64, value.integer), 0};
  return {0, wrap_to(to, value.integer)};
}

Scalar apply(const ScalarOp& op, const Scalar* operands) {
  switch (op.op) {
    case Op::cast:
      return convert(op.operand, op.result, operands[0], op.rounds);
    case Op::stop_gradient:
    case Op::copy:
      return operands[0];
    case Op::select:
      return operands[0].integer ? operands[1] : operands[2];
    default:
      break;
  }
  if (op.operand == Dtype::c64) return apply_complex(op, operands);
  const Scalar& a = operands[0];
  const Scalar& b = arity(op.op) > 1 ? operands[1] : operands[0];
  bool truth = false;
  const bool is_logical =
      is_floating(op.operand) ? apply_logical(op, a.real, b.real, truth)
      : op.operand == Dtype::u64
          ? apply_logical(op, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer), truth)
          : apply_logical(op, a.integer, b.integer, truth);
  if (is_logical) return {0, truth};
  if (is_floating(op.operand)) return {apply_floating(op, operands), 0};
  return {0, apply_integer(op, operands)};
}

void no_scalar_meaning(const ScalarOp& op) {
  throw InternalError(
      "`" + std::string(name(op.op)) + "` has no meaning for " + std::string(name(op.operand)));
}

}  // namespace autoperfect
