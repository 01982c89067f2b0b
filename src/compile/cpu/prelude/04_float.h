// Prelude, part 4: float arithmetic that is one or a few instructions: fma, sqrt, rounding to integer, min,
// max, remainder.
//
// All correctly rounded but rsqrt, which is 1 / sqrt(x) in two roundings: 1.5 ulp.

namespace ap {

// One rounding. The compiler never contracts a * b + c for us (-ffp-contract=off), so an fma is always one
// somebody asked for.
AP_INLINE vf fma(vf a, vf b, vf c) {
#if AP_AVX512
  return (vf)__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif AP_AVX2
  return (vf)__builtin_ia32_vfmaddps256(a, b, c);
#else
  vf r;
  for (int l = 0; l < W; ++l)
    r[l] = __builtin_fmaf(a[l], b[l], c[l]);
  return r;
#endif
}
AP_INLINE vd fma(vd a, vd b, vd c) {
#if AP_AVX512 || AP_AVX2
  Halves<vd> x = halves(a), y = halves(b), z = halves(c);
#if AP_AVX512
  z.low = __builtin_ia32_vfmaddpd512_mask(x.low, y.low, z.low, -1, 4);
  z.high = __builtin_ia32_vfmaddpd512_mask(x.high, y.high, z.high, -1, 4);
#else
  z.low = __builtin_ia32_vfmaddpd256(x.low, y.low, z.low);
  z.high = __builtin_ia32_vfmaddpd256(x.high, y.high, z.high);
#endif
  __builtin_memcpy(&c, &z, sizeof(c));
#else
  for (int l = 0; l < W; ++l)
    c[l] = __builtin_fma(a[l], b[l], c[l]);
#endif
  return c;
}

AP_INLINE vf sqrt(vf x) {
#if AP_AVX512 && defined(__clang__)
  return (vf)__builtin_ia32_sqrtps512(x, 4);
#elif AP_AVX512
  return (vf)__builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif AP_AVX2
  return (vf)__builtin_ia32_sqrtps256(x);
#elif AP_SSE2
  return (vf)__builtin_ia32_sqrtps(x);
#else
  vf r;
  for (int l = 0; l < W; ++l)
    r[l] = __builtin_sqrtf(x[l]);
  return r;
#endif
}

#if AP_AVX512
#define AP_ROUND(x, how, scalar) return (vf)__builtin_ia32_rndscaleps_mask(x, 8 | how, x, -1, 4)
#elif AP_AVX2
#define AP_ROUND(x, how, scalar) return (vf)__builtin_ia32_roundps256(x, 8 | how)
#else
#define AP_ROUND(x, how, scalar) \
  vf r;                          \
  for (int l = 0; l < W; ++l)    \
    r[l] = scalar(x[l]);         \
  return r
#endif
// Half to even, as MLX.
AP_INLINE vf round(vf x) {
  AP_ROUND(x, 0, __builtin_rintf);
}
AP_INLINE vf floor(vf x) {
  AP_ROUND(x, 1, __builtin_floorf);
}
AP_INLINE vf ceil(vf x) {
  AP_ROUND(x, 2, __builtin_ceilf);
}
AP_INLINE vf trunc(vf x) {
  AP_ROUND(x, 3, __builtin_truncf);
}

AP_INLINE vf recip(vf x) {
  return 1.0f / x;
}
AP_INLINE vf rsqrt(vf x) {
  return 1.0f / sqrt(x);
}

AP_INLINE vf sign_bit(vf x) {
  return from_bits(bits(x) & (int)0x80000000);
}
// A magnitude of at least 0, with the sign of any number.
AP_INLINE vf with_sign(vf magnitude, vf sign) {
  return from_bits(bits(magnitude) | bits(sign_bit(sign)));
}
AP_INLINE vf abs(vf x) {
  return from_bits(bits(x) & 0x7fffffff);
}
AP_INLINE vd abs(vd x) {
  return (vd)((vi64)x & 0x7fffffffffffffff);
}

template <class V>
AP_INLINE V neg(V x) {
  return -x;
}
template <class V>
AP_INLINE V square(V x) {
  return x * x;
}
// As MLX: the sign of NaN is 0, that of -0 is +0.
template <class V>
AP_INLINE V sign(V x) {
  using T = typename scalar_of<V>::type;
  return select(lt(x, V{}), splat<V>(T(-1)), select(gt(x, V{}), splat<V>(T(1)), V{}));
}

// a > b ? a : b, which is b where they are unordered or equal: the instruction itself, when the compiler sees
// it.
template <class V>
AP_INLINE V larger(V a, V b) {
  return select(gt(a, b), a, b);
}
template <class V>
AP_INLINE V smaller(V a, V b) {
  return select(lt(a, b), a, b);
}
#if !defined(__clang__) && (AP_AVX512 || AP_AVX2)
AP_INLINE vf larger(vf a, vf b) {
#if AP_AVX512
  return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#else
  return __builtin_ia32_maxps256(a, b);
#endif
}
AP_INLINE vf smaller(vf a, vf b) {
#if AP_AVX512
  return __builtin_ia32_minps512_mask(a, b, a, -1, 4);
#else
  return __builtin_ia32_minps256(a, b);
#endif
}
#endif

// As MLX: a where a is NaN, else a > b ? a : b; so NaN on either side gives NaN, and of two zeros the second
// wins.
template <class V>
AP_INLINE V maximum(V a, V b) {
  return select(ne(a, a), a, larger(a, b));
}
template <class V>
AP_INLINE V minimum(V a, V b) {
  return select(ne(a, a), a, smaller(a, b));
}

// Is any lane (are all lanes) true: as a scalar to branch on, and splat.
AP_INLINE bool any(mask m) {
#if AP_AVX512
  return __builtin_ia32_cmpd512_mask(m, vi32{}, 4, -1) != 0;
#elif AP_AVX2
  typedef long long words __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((words)m, (words)m);
#else
  i64 h[W / 2];
  __builtin_memcpy(h, &m, sizeof(m));
  return (h[0] | h[1]) != 0;
#endif
}
AP_INLINE bool all(mask m) {
  return !any(~m);
}

// floor(a / b), as MLX's floor_divide of floats.
AP_INLINE vf floor_divide(vf a, vf b) {
  return floor(a / b);
}

// The IEEE remainder a - round(a / b) * b, exact. While |a / b| < 2^22 the rounded quotient is off by one at
// most, and only near a tie, where the remainder still is exact in one fma and one more step brings it back.
static __attribute__((noinline, cold)) vf remainder_by_lane(vf a, vf b) {
  vf r;
  for (int l = 0; l < W; ++l)
    r[l] = __builtin_remainderf(a[l], b[l]);
  return r;
}
AP_INLINE vf ieee_remainder(vf a, vf b) {
  vf size = abs(b);
  vf q = a / b;
  mask hard = ~((abs(q) < 0x1p22f) & (size > 0x1p-100f) & (size < 0x1p126f));
  if (__builtin_expect(any(hard), 0)) return remainder_by_lane(a, b);
  vf r = fma(-round(q), b, a);
  r = abs(r) + abs(r) > size ? r - with_sign(size, sign_bit(r)) : r;
  return with_sign(abs(r), r == 0 ? sign_bit(a) : sign_bit(r));
}
// As MLX: the IEEE remainder, moved by b where its sign is not b's.
AP_INLINE vf remainder(vf a, vf b) {
  vf r = ieee_remainder(a, b);
  return (r != 0) & ((r < 0) ^ (b < 0)) ? r + b : r;
}

}  // namespace ap
