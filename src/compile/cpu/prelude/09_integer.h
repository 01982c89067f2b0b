// Prelude, part 9: integer division, remainder, shifts and power, as MLX's C++ does them on the CPU.
//
// int_div truncates; floor_divide rounds down and remainder takes the divisor's sign, as MLX eager does:
// x / 0 is 0, x % 0 is x, and the smallest number by -1 wraps.

namespace ap {

// Quotients of numbers below 2^16 in f32, and below 2^32 in f64, cannot round up to an integer they do not
// reach.
#define AP_DIVIDE_NARROW(V)                          \
  AP_INLINE V int_div(V a, V b) {                    \
    V q = convert<V>(to_i32(to_f32(a) / to_f32(b))); \
    return b == 0 ? V{} : q;                         \
  }
AP_DIVIDE_NARROW(vi8)
AP_DIVIDE_NARROW(vu8)
AP_DIVIDE_NARROW(vi16)
AP_DIVIDE_NARROW(vu16)
AP_INLINE vi32 int_div(vi32 a, vi32 b) {
  return b == 0 ? vi32{}
                : __builtin_convertvector(__builtin_convertvector(to_f64(a) / to_f64(b), vi64), vi32);
}
AP_INLINE vu32 int_div(vu32 a, vu32 b) {
  return b == 0 ? vu32{} : to_u32(to_f64(a) / to_f64(b));
}
AP_INLINE vi64 int_div(vi64 a, vi64 b) {
  for (int l = 0; l < W; ++l)
    a[l] = b[l] == 0 ? 0 : b[l] == -1 ? (i64)(0 - (u64)a[l]) : a[l] / b[l];
  return a;
}
AP_INLINE vu64 int_div(vu64 a, vu64 b) {
  for (int l = 0; l < W; ++l)
    a[l] = b[l] == 0 ? 0 : a[l] / b[l];
  return a;
}

template <class V>
AP_INLINE V floor_divide(V a, V b) {
  V q = int_div(a, b);
  mask inexact = ne(a - q * b, V{}) & ne(b, V{});
  return select(inexact & (lt(a, V{}) ^ lt(b, V{})), q - 1, q);
}
template <class V>
AP_INLINE V remainder(V a, V b) {
  V r = a - int_div(a, b) * b;
  r = select(ne(r, V{}) & (lt(r, V{}) ^ lt(b, V{})), r + b, r);
  return select(eq(b, V{}), a, r);
}

// C's shift after promotion, with the count taken modulo the promoted width as x86 does; the operators leave
// that undefined.
template <class V>
AP_INLINE V shift_left(V a, V n) {
  if constexpr (sizeof(V) >= 4 * W)
    return a << (n & (8 * sizeof(V) / W - 1));
  else
    return convert<V>(to_i32(a) << (to_i32(n) & 31));
}
template <class V>
AP_INLINE V shift_right(V a, V n) {
  if constexpr (sizeof(V) >= 4 * W)
    return a >> (n & (8 * sizeof(V) / W - 1));
  else
    return convert<V>(to_i32(a) >> (to_i32(n) & 31));
}

template <class V>
AP_INLINE V abs(V x) {
  return select(lt(x, V{}), -x, x);
}

// By squaring, wrapping; a negative exponent gives 0, as MLX.
template <class V>
AP_INLINE V pow(V base, V exponent) {
  V result = V{} + 1;
  mask negative = lt(exponent, V{});
  result = select(negative, V{}, result);
  exponent = select(negative, V{}, exponent);
  while (any(ne(exponent, V{}))) {
    result = select(to_bool(exponent & 1), result * base, result);
    base *= base;
    exponent >>= 1;
  }
  return result;
}

}  // namespace ap
