// Prelude, part 2: conversions between dtypes, and rounding to the half types.
//
// Float to integer truncates. Out of range it gives what x86's cvtt instructions and GCC's scalar casts give
// at run time (i32: 0x80000000; narrower: that, truncated; u32: through i64), so that a kernel never depends
// on how C++ leaves it undefined.

namespace ap {

#define AP_CONVERT(name, V)  \
  template <class From>      \
  AP_INLINE V name(From v) { \
    return convert<V>(v);    \
  }
AP_CONVERT(to_f32, vf)
AP_CONVERT(to_f64, vd)
AP_CONVERT(to_i8, vi8)
AP_CONVERT(to_u8, vu8)
AP_CONVERT(to_i16, vi16)
AP_CONVERT(to_u16, vu16)
AP_CONVERT(to_i32, vi32)
AP_CONVERT(to_u32, vu32)
AP_CONVERT(to_i64, vi64)
AP_CONVERT(to_u64, vu64)

template <class V>
AP_INLINE mask to_bool(V v) {
  return ne(v, V{});
}

// The builtins rather than __builtin_convertvector: no compiler folds them with a different idea of "out of
// range".
AP_INLINE vi32 to_i32(vf v) {
#if AP_AVX512
  return (vi32)__builtin_ia32_cvttps2dq512_mask(v, vi32{}, -1, 4);
#elif AP_AVX2
  return (vi32)__builtin_ia32_cvttps2dq256(v);
#elif AP_SSE2
  return (vi32)__builtin_ia32_cvttps2dq(v);
#else
  return __builtin_convertvector(v, vi32);
#endif
}

// Above 2^63 as GCC's baseline scalar code: subtract 2^63, convert signed, put the top bit back.
template <class F>
AP_INLINE vu64 float_to_u64(F v) {
  F top = splat<F>(9223372036854775808.0f);
  mask big = ge(v, top);
  vu64 low = (vu64) __builtin_convertvector(select(big, v - top, v), vi64);
  return low ^ select(big, splat<vu64>(1ull << 63), vu64{});
}

#define AP_TRUNCATE(F)                                                      \
  AP_INLINE vi8 to_i8(F v) {                                                \
    return convert<vi8>(to_i32(v));                                         \
  }                                                                         \
  AP_INLINE vu8 to_u8(F v) {                                                \
    return convert<vu8>(to_i32(v));                                         \
  }                                                                         \
  AP_INLINE vi16 to_i16(F v) {                                              \
    return convert<vi16>(to_i32(v));                                        \
  }                                                                         \
  AP_INLINE vu16 to_u16(F v) {                                              \
    return convert<vu16>(to_i32(v));                                        \
  }                                                                         \
  AP_INLINE vu32 to_u32(F v) {                                              \
    return __builtin_convertvector(__builtin_convertvector(v, vi64), vu32); \
  }                                                                         \
  AP_INLINE vu64 to_u64(F v) {                                              \
    return float_to_u64(v);                                                 \
  }
AP_TRUNCATE(vf)
AP_TRUNCATE(vd)

// Round to nearest even on the bits. vcvtneps2bf16 is not used: it flushes denormals. A NaN is made quiet
// first, or one whose payload lies in the low half would turn into infinity.
AP_INLINE vf round_bf16(vf x) {
  vu32 u = (vu32)x;
  vu32 rounded = u + (0x7fffu + ((u >> 16) & 1u));
  return (vf)(((vu32)select(is_nan(x), (vi32)(u | 0x400000u), (vi32)rounded)) & 0xffff0000u);
}

AP_INLINE vf bf16_to_f32(vu16 h) {
  return (vf)(__builtin_convertvector(h, vu32) << 16);
}
// x must be a bf16 value already.
AP_INLINE vu16 f32_to_bf16(vf x) {
  return __builtin_convertvector((vu32)x >> 16, vu16);
}

#if AP_AVX512
AP_INLINE vf f16_to_f32(vu16 h) {
  return (vf)__builtin_ia32_vcvtph2ps512_mask((vi16)h, vf{}, -1, 4);
}
AP_INLINE vu16 f32_to_f16(vf x) {
  return (vu16)__builtin_ia32_vcvtps2ph512_mask(x, 0, vi16{}, -1);
}
AP_INLINE vf round_f16(vf x) {
  return f16_to_f32(f32_to_f16(x));
}
#elif AP_AVX2 && defined(__F16C__)
AP_INLINE vf f16_to_f32(vu16 h) {
  return (vf)__builtin_ia32_vcvtph2ps256((vi16)h);
}
AP_INLINE vu16 f32_to_f16(vf x) {
  return (vu16)__builtin_ia32_vcvtps2ph256(x, 0);
}
AP_INLINE vf round_f16(vf x) {
  return f16_to_f32(f32_to_f16(x));
}
#else
// Moving the 15 low bits up by 13 gives the value scaled by 2^-112, exact for denormals too; infinity and NaN
// need f32's exponent.
AP_INLINE vf f16_to_f32(vu16 h) {
  vi32 u = __builtin_convertvector(h, vi32);
  vi32 magnitude = u & 0x7fff;
  vi32 scaled = bits(from_bits(magnitude << 13) * 0x1p112f);
  scaled |= (magnitude >= 0x7c00) & 0x7f800000;
  return from_bits(scaled | (u & 0x8000) << 16);
}
// x must be an f16 value already, so the scaling is exact.
AP_INLINE vu16 f32_to_f16(vf x) {
  vi32 u = bits(x);
  vi32 magnitude = u & 0x7fffffff;
  vi32 finite = bits(from_bits(magnitude) * 0x1p-112f) >> 13;
  vi32 special = 0x7c00 | ((magnitude >> 13) & 0x3ff);
  vi32 h = magnitude >= 0x7f800000 ? special : finite;
  return __builtin_convertvector(h | ((u >> 16) & 0x8000), vu16);
}
// Below 2^-14 the unit of f16 is 2^-24, which is the unit of f32 numbers near 0.5.
AP_INLINE vf round_f16(vf x) {
  vi32 sign = bits(x) & (int)0x80000000;
  vi32 u = bits(x) ^ sign;
  vi32 rounded = (u + (0xfff + ((u >> 13) & 1))) & ~0x1fff;
  rounded = rounded > 0x477fe000 ? 0x7f800000 - vi32{} : rounded;
  vi32 small = bits((from_bits(u) + 0.5f) - 0.5f);
  rounded = u < 0x38800000 ? small : rounded;
  rounded = u > 0x7f800000 ? ((u | 0x400000) & ~0x1fff) : rounded;
  return from_bits(rounded | sign);
}
#endif

}  // namespace ap
