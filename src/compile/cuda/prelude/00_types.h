// CUDA prelude, part 1: numbers, in the names of the CPU's prelude: what is a vector of lanes there is the
// number of one thread here, so that one text of an operation serves both.

#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)

namespace ap {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
// In memory only.
struct bf16 {
  u16 raw;
};
struct f16 {
  u16 raw;
};
struct bool8 {
  u8 raw;
};

// Integers that wrap, whatever their width: C++ leaves overflow undefined and widens the narrow ones.
template <class T>
struct wide {
  using type = u32;
};
template <>
struct wide<i64> {
  using type = u64;
};
template <>
struct wide<u64> {
  using type = u64;
};
template <class T>
struct Int {
  T n;
  using U = typename wide<T>::type;
  friend Int operator+(Int a, Int b) { return {T(U(a.n) + U(b.n))}; }
  friend Int operator-(Int a, Int b) { return {T(U(a.n) - U(b.n))}; }
  friend Int operator*(Int a, Int b) { return {T(U(a.n) * U(b.n))}; }
  friend Int operator&(Int a, Int b) { return {T(a.n & b.n)}; }
  friend Int operator|(Int a, Int b) { return {T(a.n | b.n)}; }
  friend Int operator^(Int a, Int b) { return {T(a.n ^ b.n)}; }
  friend Int operator~(Int a) { return {T(~a.n)}; }
  friend Int operator-(Int a) { return {T(U(0) - U(a.n))}; }
  friend bool operator==(Int a, Int b) { return a.n == b.n; }
  friend bool operator!=(Int a, Int b) { return a.n != b.n; }
  friend bool operator<(Int a, Int b) { return a.n < b.n; }
  friend bool operator<=(Int a, Int b) { return a.n <= b.n; }
  friend bool operator>(Int a, Int b) { return a.n > b.n; }
  friend bool operator>=(Int a, Int b) { return a.n >= b.n; }
};

using vf = float;
using mask = bool;
using vi8 = Int<i8>;
using vu8 = Int<u8>;
using vi16 = Int<i16>;
using vu16 = Int<u16>;
using vi32 = Int<i32>;
using vu32 = Int<u32>;
using vi64 = Int<i64>;
using vu64 = Int<u64>;

vf splat(float x) {
  return x;
}
mask splat_bool(bool x) {
  return x;
}
template <class V, class T>
V splat(T x) {
  return V{x};
}

template <class V>
mask eq(V a, V b) {
  return a == b;
}
template <class V>
mask ne(V a, V b) {
  return a != b;
}
template <class V>
mask lt(V a, V b) {
  return a < b;
}
template <class V>
mask le(V a, V b) {
  return a <= b;
}
template <class V>
mask gt(V a, V b) {
  return a > b;
}
template <class V>
mask ge(V a, V b) {
  return a >= b;
}
template <class V>
V select(mask m, V a, V b) {
  return m ? a : b;
}
mask mask_and(mask a, mask b) {
  return a && b;
}
mask mask_or(mask a, mask b) {
  return a || b;
}
mask mask_not(mask a) {
  return !a;
}
mask is_nan(vf x) {
  return x != x;
}

// Conversions are C++'s; of a float out of range, what the device's instructions give, as in MLX's own
// kernels.
template <class To, class T>
To convert(Int<T> x) {
  return {decltype(To::n)(x.n)};
}
template <class To>
To convert(vf x) {
  return {decltype(To::n)(x)};
}
template <class T>
vf to_f32(Int<T> x) {
  return float(x.n);
}
vf to_f32(vf x) {
  return x;
}
#define AP_CONVERT(name, V) \
  template <class From>     \
  V name(From x) {          \
    return convert<V>(x);   \
  }
AP_CONVERT(to_i8, vi8)
AP_CONVERT(to_u8, vu8)
AP_CONVERT(to_i16, vi16)
AP_CONVERT(to_u16, vu16)
AP_CONVERT(to_i32, vi32)
AP_CONVERT(to_u32, vu32)
AP_CONVERT(to_i64, vi64)
AP_CONVERT(to_u64, vu64)
vu8 from_bool(mask m) {
  return {u8(m)};
}
template <class V>
mask to_bool(V x) {
  return x != V{};
}

// To nearest even; the instructions keep denormals. Conversions of two numbers at once run at several times
// the rate of those of one, so the other is 0: in the high half of a word it leaves a bf16 that is an f32
// already.
vf round_bf16(vf x) {
  u32 rounded;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x), "f"(0.0f));
  return __uint_as_float(rounded);
}
u16 f16_bits(vf x) {
  u32 h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(0.0f), "f"(x));
  return u16(h);
}
vf from_bf16(u16 h) {
  return __uint_as_float(u32(h) << 16);
}
vf from_f16(u16 h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
vf round_f16(vf x) {
  return from_f16(f16_bits(x));
}

// Between memory and numbers.
vf decode(f32 x) {
  return x;
}
vf decode(bf16 x) {
  return from_bf16(x.raw);
}
vf decode(f16 x) {
  return from_f16(x.raw);
}
mask decode(bool8 x) {
  return x.raw != 0;
}
template <class T>
Int<T> decode(T x) {
  return {x};
}
void encode(f32& to, vf x) {
  to = x;
}
void encode(bf16& to, vf x) {
  to.raw = u16(__float_as_uint(x) >> 16);  // every value of a bf16 is one already
}
void encode(f16& to, vf x) {
  to.raw = f16_bits(x);
}
void encode(bool8& to, mask x) {
  to.raw = x;
}
template <class T>
void encode(T& to, Int<T> x) {
  to = x.n;
}

}  // namespace ap
