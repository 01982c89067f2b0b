#include "ir/lossless.h"

#include <algorithm>
#include <cmath>

namespace autoperfect {

namespace {

// How many significant bits the integers of a dtype take.
int bits_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return 1;
  return static_cast<int>(size_of(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
}

int mantissa_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return 8;
    case Dtype::f16:
      return 11;
    case Dtype::f32:
      return 24;
    default:
      return 53;
  }
}

}  // namespace

bool is_lossless(Dtype from, Dtype to) {
  if (from == to) return true;
  if (from == Dtype::c64 || to == Dtype::c64 || to == Dtype::bool_) return false;
  if (is_floating(from)) {
    const bool widens = to == Dtype::f64 || (to == Dtype::f32 && is_half(from));
    return widens;
  }
  if (is_floating(to)) return bits_of(from) <= mantissa_of(to);
  const bool keeps_sign = is_signed_integer(to) || !is_signed_integer(from);
  return keeps_sign && bits_of(from) <= bits_of(to);
}

bool holds(Dtype dtype, double first, double last) {
  const double lowest = std::min(first, last), highest = std::max(first, last);
  if (is_floating(dtype)) {
    const double most = std::ldexp(1.0, std::min(mantissa_of(dtype), 53));
    return lowest >= -most && highest <= most;
  }
  if (!is_integer(dtype)) return false;
  const double most = std::ldexp(1.0, std::min(bits_of(dtype), 53));
  return highest < most && lowest >= (is_signed_integer(dtype) ? -most : 0.0);
}

}  // namespace autoperfect
