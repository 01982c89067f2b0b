// Prelude, part 5: the exponential family on vf.
//
// All of them: k = round(x / ln2), r = x - k ln2 in two steps (the first is exact in one fma), a polynomial
// for e^r, scale by 2^k. Where a later division or cancellation would lose the last bit, the result is
// carried as hi + lo. Constants are minimax fits with coefficients rounded one by one.
//
// Greatest error found, in ulp of the exact value, over every 7th bit pattern of f32 (below 1.5 a result is
// within 1 ulp of the correctly rounded one; NaN, infinities, zeros and denormals are right, results too):
//   exp 1.03   exp2 0.88   expm1 1.09   tanh 1.26   sigmoid 1.02   erf 0.89

namespace ap {

AP_INLINE vf poly(vf, float c) {
  return splat(c);
}
AP_INLINE vd poly(vd, double c) {
  return splat<vd>(c);
}
// c0 + c1 x + c2 x^2 + ...
template <class V, class T, class... C>
AP_INLINE V poly(V x, T c0, C... rest) {
  return fma(poly(x, rest...), x, splat<V>(c0));
}

// Adding this rounds to an integer, which then lies in the low bits.
constexpr float round_magic = 0x1.8p23f;

// p * 2^k for integral k, right into the denormals; in two factors, each a normal number.
AP_INLINE vf scale(vf p, vf k) {
#if AP_AVX512
  return (vf)__builtin_ia32_scalefps512_mask(p, k, p, -1, 4);
#else
  vi32 n = bits(k + round_magic) - 0x4b400000;
  vi32 half = n >> 1;
  return p * from_bits((half + 127) << 23) * from_bits((n - half + 127) << 23);
#endif
}

// NaN passes: larger and smaller give their second operand when unordered.
AP_INLINE vf clamp(vf x, float low, float high) {
  return smaller(splat(high), larger(splat(low), x));
}

// x = k ln2 + r, |r| < 0.3466, with the rounding error of r beside it (it costs nothing where unused).
struct Reduced {
  vf k, r, r_low;
};
AP_INLINE Reduced reduce_ln2(vf x) {
  vf k = fma(x, splat(0x1.715476p+0f), splat(round_magic)) - round_magic;
  vf exact = fma(k, splat(-0x1.62e43p-1f), x);
  vf r = fma(k, splat(0x1.05c61p-29f), exact);
  return {k, r, fma(k, splat(0x1.05c61p-29f), exact - r)};
}
// (e^r - 1 - r) / r^2
AP_INLINE vf exp_tail(vf r) {
  return poly(r, 0x1.000000p-1f, 0x1.55548ep-3f, 0x1.5554d2p-5f, 0x1.123c3ap-7f, 0x1.6d65eep-10f);
}

AP_INLINE vf exp(vf x) {
  Reduced a = reduce_ln2(clamp(x, -104.0f, 89.0f));
  return scale(1.0f + fma(a.r * a.r, exp_tail(a.r), a.r), a.k);
}

AP_INLINE vf exp2(vf x) {
  x = clamp(x, -151.0f, 129.0f);
  vf k = (x + round_magic) - round_magic;
  vf r = x - k;
  vf tail = poly(r, 0x1.ebfbe0p-3f, 0x1.c6af84p-5f, 0x1.3b2a3ep-7f, 0x1.5f06c0p-10f, 0x1.442feep-13f);
  vf low = fma(r * r, tail, r * -0x1.05c61p-29f);
  return scale(1.0f + fma(r, splat(0x1.62e43p-1f), low), k);
}

// Half of e^x - 1, as hi + lo: 2^(k-1) r + (2^(k-1) - 1/2) + 2^(k-1) (tail), the first sum with its error
// kept.
struct Pair {
  vf hi, lo;
};
AP_INLINE Pair half_expm1(vf x) {
  Reduced a = reduce_ln2(x);
  vf s = from_bits((bits(a.k + round_magic) << 23) + (126 << 23));
  vf base = s - 0.5f;
  vf sum = fma(s, a.r, base);
  vf error = fma(s, a.r, base - sum);
  vf low = fma(s, fma(a.r * a.r, exp_tail(a.r), a.r_low), error);
  vf hi = sum + low;
  return {hi, low - (hi - sum)};
}

AP_INLINE vf expm1(vf x) {
  vf h = half_expm1(clamp(x, -18.0f, 89.0f)).hi;
  return abs(x) < 0x1p-25f ? x : h + h;
}

// n / d for pairs: one division, then one correction of the quotient.
AP_INLINE vf divide(Pair n, Pair d) {
  vf y = 1.0f / d.hi;
  vf q = n.hi * y;
  vf rest = fma(-q, d.lo, fma(-q, d.hi, n.hi)) + n.lo;
  return fma(rest, y, q);
}

// Below 0.625: x + x^3 P(x^2). Above: 1 - 2 / (e^2|x| + 1), where the quotient is the smaller part.
AP_INLINE vf tanh(vf x) {
  vf a = abs(x), z = x * x;
  vf p = poly(z, -0x1.555534p-2f, 0x1.110768p-3f, -0x1.b84448p-5f, 0x1.5256d8p-6f, -0x1.76ac18p-8f);
  Reduced r = reduce_ln2(smaller(splat(20.0f), a + a));
  vf e = scale(1.0f + fma(r.r * r.r, exp_tail(r.r), r.r), r.k);
  vf t = 1.0f - 2.0f / (e + 1.0f);
  return with_sign(a < 0.625f ? fma(a * z, p, a) : t, sign_bit(x));
}

// With e = e^-|x|: 1 / (1 + e), or e / (1 + e) below 0.
AP_INLINE vf sigmoid(vf x) {
  Reduced a = reduce_ln2(larger(splat(-104.0f), -abs(x)));
  vf u = fma(a.r * a.r, exp_tail(a.r), a.r);
  vf p = 1.0f + u;
  vf e = scale(p, a.k);
  vf e_low = scale(u - (p - 1.0f), a.k);
  vf d = 1.0f + e;
  Pair n = {x < 0 ? e : splat(1.0f), x < 0 ? e_low : vf{}};
  return divide(n, {d, e - (d - 1.0f) + e_low});
}

// Below 0.92: x + x P(x^2). Above: 1 - 2^(G(x) - 2) with G fitted to 2 + log2(erfc x), small where the last
// bit is won or lost; clamped where the result is 1.
AP_INLINE vf erf(vf x) {
  vf a = smaller(splat(4.1f), abs(x));
  vf y = a * a;
  vf small = poly(
      y,
      0x1.06eba8p-3f,
      -0x1.812742p-2f,
      0x1.ce2e08p-4f,
      -0x1.b81042p-6f,
      0x1.54e0eep-8f,
      -0x1.ab46c0p-11f,
      0x1.60900ep-14f);
  vf curve = poly(a, -0x1.d6a4b8p-1f, -0x1.3322e6p-3f, 0x1.06c9aap-5f, -0x1.1fe874p-8f, 0x1.28aac6p-12f);
  vf g = fma(y, curve, fma(a, splat(-0x1.a07d74p+0f), splat(0x1.ffede2p+0f)));
  vf t = g + round_magic;
  vf r = g - (t - round_magic);
  vf p = poly(
      r,
      1.0f,
      0x1.62e43p-1f,
      0x1.ebfbe0p-3f,
      0x1.c6af84p-5f,
      0x1.3b2a3ep-7f,
      0x1.5f06c0p-10f,
      0x1.442feep-13f);
  vf s = from_bits((bits(t) << 23) + (125 << 23));
  vf big = with_sign(fma(-p, s, splat(1.0f)), sign_bit(x));
  return a < 0.92f ? fma(x, small, x) : big;
}

}  // namespace ap
