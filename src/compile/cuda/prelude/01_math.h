// CUDA prelude, part 2: functions of numbers.
//
// What CUDA has with 2 ulp or so is CUDA's own, which MLX's kernels call as well; the rest is computed in
// double and rounded once.
//
// Greatest error found, in ulp, over every 5th bit pattern of f32 (tests/device/device_math_test.cpp):
// exp 1.89 expm1 1.45   log 0.87   log2 0.92   log10 2.08   log1p 0.89   tanh 1.82   sin 1.50   cos 1.51
// erf 1.04 rsqrt 1.49   sigmoid 3.70   those in double 0.51

namespace ap {

vf exp(vf x) {
  return ::expf(x);
}
vf expm1(vf x) {
  return ::expm1f(x);
}
vf log(vf x) {
  return ::logf(x);
}
vf log2(vf x) {
  return ::log2f(x);
}
vf log10(vf x) {
  return ::log10f(x);
}
vf log1p(vf x) {
  return ::log1pf(x);
}
vf tanh(vf x) {
  return ::tanhf(x);
}
vf sin(vf x) {
  return ::sinf(x);
}
vf cos(vf x) {
  return ::cosf(x);
}
vf erf(vf x) {
  return ::erff(x);
}
vf sqrt(vf x) {
  return ::__fsqrt_rn(x);
}
vf rsqrt(vf x) {
  return __frcp_rn(sqrt(x));
}
vf floor(vf x) {
  return ::floorf(x);
}
vf ceil(vf x) {
  return ::ceilf(x);
}
vf round(vf x) {
  return ::rintf(x);
}
vf abs(vf x) {
  return ::fabsf(x);
}
vf fma(vf a, vf b, vf c) {
  return __fmaf_rn(a, b, c);
}

#define AP_IN_DOUBLE(name)           \
  vf name(vf x) {                    \
    return float(::name(double(x))); \
  }
AP_IN_DOUBLE(tan)
AP_IN_DOUBLE(sinh)
AP_IN_DOUBLE(cosh)
AP_IN_DOUBLE(asin)
AP_IN_DOUBLE(acos)
AP_IN_DOUBLE(atan)
AP_IN_DOUBLE(asinh)
AP_IN_DOUBLE(acosh)
AP_IN_DOUBLE(atanh)
AP_IN_DOUBLE(erfinv)
vf pow(vf a, vf b) {
  return float(::pow(double(a), double(b)));
}
vf atan2(vf a, vf b) {
  return float(::atan2(double(a), double(b)));
}

// To 2 ulp; 0 where it is denormal.
vf power_of_two(vf x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// To 1 ulp; 0 where it is denormal, infinite for denormals.
vf about_reciprocal(vf x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Quotients of two values of a half dtype, to be rounded to it: the same as of a / b, without its branches.
// None is halfway between two neighbours that are normal, or nearer to it than a step of Newton's comes;
// where neighbours are denormal the step is right to the last bit of f32. Where nothing is left a zero keeps
// its sign, and infinities and NaN are right without the step.
vf f16_quotient(vf a, vf b) {
  float r = about_reciprocal(b), q = a * r, rest = fma(-q, b, a);
  return abs(rest) < __builtin_inff() && rest != 0 ? fma(rest, r, q) : q;
}
vf bf16_quotient(vf a, vf b) {
  float scale = abs(b) < 0x1p-64f ? 0x1p64f : abs(b) > 0x1p64f ? 0x1p-64f : 1.0f;
  return f16_quotient(a * scale, b * scale);
}

// By the reciprocal of a number for which that rounds to the half dtype as the quotient does.
vf half_scaled(vf a, vf reciprocal) {
  return a * reciprocal;
}

// As MLX: of NaN and of -0 it is +0.
vf sign(vf x) {
  return x < 0 ? -1.0f : x > 0 ? 1.0f : 0.0f;
}
template <class T>
Int<T> sign(Int<T> x) {
  return {T((x.n > T(0)) - (x.n < T(0)))};
}
template <class T>
Int<T> abs(Int<T> x) {
  return x.n < T(0) ? -x : x;
}

// As MLX: a where a is NaN, else a > b ? a : b.
vf maximum(vf a, vf b) {
  return a != a ? a : a > b ? a : b;
}
vf minimum(vf a, vf b) {
  return a != a ? a : a < b ? a : b;
}
// In a reduction the order of +0 and -0 is free: one instruction, NaN where either is.
vf largest(vf a, vf b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
vf smallest(vf a, vf b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
template <class T>
Int<T> maximum(Int<T> a, Int<T> b) {
  return a > b ? a : b;
}
template <class T>
Int<T> minimum(Int<T> a, Int<T> b) {
  return a < b ? a : b;
}

// The IEEE remainder, moved by b where its sign is not b's.
vf remainder(vf a, vf b) {
  float r = ::remainderf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
vf logaddexp(vf a, vf b) {
  constexpr float largest = 3.4028234663852886e38f;
  float high = maximum(a, b), low = minimum(a, b);
  return low < -largest || high > largest ? high : high + log1p(exp(low - high));
}
vf sigmoid(vf x) {
  float power = exp(-abs(x)), sum = 1.0f + power, r = about_reciprocal(sum);
  float large = fma(fma(-sum, r, 1.0f), r, r);  // 1 / sum, which is from 1 to 2
  return x < 0 ? power * large : large;
}
// Of a half dtype, whose exponential MLX rounds: `power` is e^|x| rounded. Of the reciprocal an ulp of f32
// counts for nothing in bf16, and for one number in f16.
vf sigmoid_of(vf x, vf power) {
  constexpr float scale = 0x1p-64f;  // keeps it from the denormals
  float small = about_reciprocal((1.0f + power) * scale) * scale;
  return x < 0 ? small : 1.0f - small;
}

// x / 0 is 0, x % 0 is x, and the smallest number by -1 wraps: as the CPU's.
template <class T>
Int<T> int_div(Int<T> a, Int<T> b) {
  if (b.n == 0) return {0};
  if (T(-1) < T(0) && b.n == T(-1)) return -a;
  return {T(a.n / b.n)};
}
template <class T>
Int<T> floor_divide(Int<T> a, Int<T> b) {
  Int<T> q = int_div(a, b);
  bool inexact = a != q * b && b.n != 0;
  return inexact && (a.n < T(0)) != (b.n < T(0)) ? q - Int<T>{1} : q;
}
template <class T>
Int<T> remainder(Int<T> a, Int<T> b) {
  if (b.n == 0) return a;
  Int<T> r = a - int_div(a, b) * b;
  return r.n != 0 && (r.n < T(0)) != (b.n < T(0)) ? r + b : r;
}
// By squaring, wrapping; a negative exponent gives 0.
template <class T>
Int<T> pow(Int<T> base, Int<T> exponent) {
  Int<T> result{T(exponent.n < T(0) ? 0 : 1)};
  for (; exponent.n > T(0); exponent.n = T(exponent.n >> 1), base = base * base)
    if (exponent.n & 1) result = result * base;
  return result;
}
// After promotion, the count taken modulo the promoted width.
template <class T>
Int<T> shift_left(Int<T> a, Int<T> n) {
  constexpr int last = sizeof(T) == 8 ? 63 : 31;
  using U = typename wide<T>::type;
  return {T(U(a.n) << (int(n.n) & last))};
}
template <class T>
Int<T> shift_right(Int<T> a, Int<T> n) {
  constexpr int last = sizeof(T) == 8 ? 63 : 31;
  return {T(a.n >> (int(n.n) & last))};
}

// argmax and argmin: a NaN beats every number and nothing beats a NaN, so the first one of a row is found.
mask beats_max(vf x, vf best) {
  return !(x <= best) && best == best;
}
mask beats_min(vf x, vf best) {
  return !(x >= best) && best == best;
}
template <class T>
mask beats_max(Int<T> x, Int<T> best) {
  return x > best;
}
template <class T>
mask beats_min(Int<T> x, Int<T> best) {
  return x < best;
}
template <class V>
mask same_number(V a, V b) {
  return a == b || (a != a && b != b);
}

// As MLX: a negative index counts from the end; what is still outside is clamped.
template <class T>
long row(Int<T> index, long size) {
  if (index.n >= T(0) && u64(index.n) >= u64(size)) return size - 1;
  long at = long(index.n);
  at += at < 0 ? size : 0;
  return at < 0 ? 0 : at;
}

long min(long a, long b) {
  return a < b ? a : b;
}
long max(long a, long b) {
  return a > b ? a : b;
}
long ceil_div(long a, long b) {
  return (a + b - 1) / b;
}

}  // namespace ap
