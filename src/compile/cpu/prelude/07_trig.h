// Prelude, part 7: sin and cos on vf.
//
// |x| = k pi/2 + r with pi/2 in three parts; the first step is exact in one fma, so r is right to well under
// its last bit as long as |x| <= 2^17. Beyond that (and at infinity) the lanes go one by one to libm, which
// reduces exactly.
//
// Greatest error found, in ulp: sin 0.87   cos 0.87

namespace ap {

static __attribute__((noinline, cold)) vf sin_by_lane(vf x) {
  vf r;
  for (int l = 0; l < W; ++l)
    r[l] = __builtin_sin(x[l]);
  return r;
}
static __attribute__((noinline, cold)) vf cos_by_lane(vf x) {
  vf r;
  for (int l = 0; l < W; ++l)
    r[l] = __builtin_cos(x[l]);
  return r;
}

// sin(|x| + shift pi/2), its sign flipped where `flip` has the top bit.
AP_INLINE vf sin_quadrant(vf a, int shift, vi32 flip) {
  vf t = fma(a, splat(0x1.45f306p-1f), splat(round_magic));
  vf k = t - round_magic;
  vf exact = fma(k, splat(-0x1.921fb6p+0f), a);
  vf p = k * 0x1.777a5cp-25f;
  vf r = exact + p;
  vf low = fma(k, splat(0x1.ee59dap-50f), fma(k, splat(0x1.777a5cp-25f), -p)) + (p - (r - exact));
  vf y = r * r;
  vf s = r + fma(r * y, poly(y, -0x1.555546p-3f, 0x1.110776p-7f, -0x1.995270p-13f), low);
  vf w = 1.0f - 0.5f * y;
  vf c_low = fma(y * y, poly(y, 0x1.55554ap-5f, -0x1.6c0c24p-10f, 0x1.99e632p-16f), -(r * low));
  vf c = w + (fma(y, splat(-0.5f), 1.0f - w) + c_low);
  vi32 q = bits(t) + shift;
  vf v = (q & 1) == 0 ? s : c;
  return from_bits(bits(v) ^ ((q << 30 ^ flip) & (int)0x80000000));
}

AP_INLINE vf sin(vf x) {
  vf a = abs(x);
  if (__builtin_expect(any(a > 0x1p17f), 0)) return sin_by_lane(x);
  return sin_quadrant(a, 0, bits(x));
}
AP_INLINE vf cos(vf x) {
  vf a = abs(x);
  if (__builtin_expect(any(a > 0x1p17f), 0)) return cos_by_lane(x);
  return sin_quadrant(a, 1, vi32{});
}

}  // namespace ap
