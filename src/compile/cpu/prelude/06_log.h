// Prelude, part 6: the logarithm family and pow on vf.
//
// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f + f^2 Q(f). The large parts, e log(2)
// and f times the factor of the base, are added with their rounding error kept, so one rounding at the end
// decides the last bit.
//
// Greatest error found, in ulp: log 0.86   log2 0.99   log10 0.85   log1p 0.88   pow 0.67 (normal results
// 0.51). logaddexp, as MLX's, has the rounding of its steps: 5.1 ulp of the larger of the result and the
// larger operand.

namespace ap {

// The base's constants: log_b(2) = high + low with e * high exact, log_b(e) as a pair, and Q times log_b(e).
struct LogBase {
  float two_high, two_low, e_high, e_low, q[9];
};
constexpr LogBase base_e = {
    0x1.62e4p-1f,
    0x1.7f7d1cp-20f,
    1.0f,
    0.0f,
    {-0x1.fffff8p-2f,
     0x1.555550p-2f,
     -0x1.000432p-2f,
     0x1.99a3dep-3f,
     -0x1.54256cp-3f,
     0x1.227442p-3f,
     -0x1.0f4acap-3f,
     0x1.0837b6p-3f,
     -0x1.379fa8p-4f}};
constexpr LogBase base_2 = {
    1.0f,
    0.0f,
    0x1.715476p+0f,
    0x1.4ae0cp-26f,
    {-0x1.715470p-1f,
     0x1.ec7094p-2f,
     -0x1.715ad8p-2f,
     0x1.277f1ap-2f,
     -0x1.eaadf8p-3f,
     0x1.a2de16p-3f,
     -0x1.879232p-3f,
     0x1.7e4aeep-3f,
     -0x1.c37e2ep-4f}};
constexpr LogBase base_10 = {
    0x1.344p-2f,
    0x1.3509f8p-18f,
    0x1.bcb7b2p-2f,
    -0x1.5b235ep-27f,
    {-0x1.bcb7aap-3f,
     0x1.287a70p-3f,
     -0x1.bcbf2ep-4f,
     0x1.63d01cp-4f,
     -0x1.276f5ep-4f,
     0x1.f867acp-5f,
     -0x1.d74a64p-5f,
     0x1.cbfc86p-5f,
     -0x1.0fdc56p-5f}};

// log_b(2^e (1 + f)), plus `low` (which log1p has, to that base).
AP_INLINE vf log_sum(LogBase b, vf e, vf f, vf low) {
  vf q = poly(f, b.q[0], b.q[1], b.q[2], b.q[3], b.q[4], b.q[5], b.q[6], b.q[7], b.q[8]);
  vf big = e * b.two_high;
  low = fma(e, splat(b.two_low), low);
  vf term = f;
  if (b.e_high != 1.0f) {
    term = f * b.e_high;
    low += fma(f, splat(b.e_low), fma(f, splat(b.e_high), -term));
  }
  vf hi = big + term;
  return hi + (fma(f * f, q, low) + (term - (hi - big)));
}

// 0 -> -inf, below 0 -> NaN, inf and NaN stay.
AP_INLINE vf log_edges(vf x, vf result) {
  constexpr float inf = __builtin_inff();
  result = x < inf ? result : x;
  return x > 0 ? result : (x == 0 ? splat(-inf) : splat(__builtin_nanf("")));
}

// x = 2^e (1 + f) for x > 0, denormals too.
struct LogSplit {
  vf e, f;
};
AP_INLINE LogSplit log_split(vf x) {
  mask tiny = x < 0x1p-126f;
  vi32 u = bits(tiny ? x * 0x1p23f : x);
  vi32 e = (u - 0x3f3504f3) >> 23;
  vf f = from_bits(u - (e << 23)) - 1.0f;
  return {__builtin_convertvector(e, vf) - (tiny ? splat(23.0f) : vf{}), f};
}

AP_INLINE vf log_base(LogBase b, vf x) {
  LogSplit s = log_split(x);
  return log_edges(x, log_sum(b, s.e, s.f, vf{}));
}
AP_INLINE vf log(vf x) {
  return log_base(base_e, x);
}
AP_INLINE vf log2(vf x) {
  return log_base(base_2, x);
}
AP_INLINE vf log10(vf x) {
  return log_base(base_10, x);
}

// u = 1 + x with its rounding error; the error, scaled with u, joins f.
AP_INLINE vf log1p(vf x) {
  vf one = splat(1.0f);
  vf u = 1.0f + x;
  vf error = smaller(x, one) - (u - larger(x, one));
  vi32 e = (bits(u) - 0x3f3504f3) >> 23;
  vf m = from_bits(bits(u) - (e << 23)) - 1.0f;
  vi32 inverse = 0x3f800000 - (e << 23);
  vf s = from_bits(inverse > 0 ? inverse : vi32{});
  vf f = fma(s, error, m);
  vf f_low = fma(s, error, m - f);
  vf result = log_sum(base_e, __builtin_convertvector(e, vf), f, fma(-f, f_low, f_low));
  return with_sign(log_edges(u, x < __builtin_inff() ? result : x), sign_bit(x));
}

// In MLX's own form, each step rounded: max + log1p(exp(min - max)).
AP_INLINE vf logaddexp(vf a, vf b) {
  constexpr float inf = __builtin_inff();
  vf high = maximum(a, b);
  vf low = minimum(a, b);
  return (low == -inf) | (high == inf) ? high : high + log1p(exp(low - high));
}

// 2^(b log2|a|) with log2, product and the fraction of the power in double: rounded once, but for denormal
// results. Infinity and NaN go to libm; log2(0) is a number so low that any power but 0 drowns it.
static __attribute__((noinline, cold)) vf pow_by_lane(vf a, vf b) {
  for (int l = 0; l < W; ++l)
    a[l] = __builtin_powf(a[l], b[l]);
  return a;
}
AP_INLINE vd log2_in_double(vf x) {
  LogSplit s = log_split(x);
  vd f = to_f64(s.f);
  vd q = poly(
      f,
      0x1.71547652b5861p+0,
      -0x1.71547651b5cd7p-1,
      0x1.ec709de382fe4p-2,
      -0x1.71547889f9294p-2,
      0x1.2776b6b2566e6p-2,
      -0x1.ec6f2d146ad26p-3,
      0x1.a61b854f42b29p-3,
      -0x1.7188f00439657p-3,
      0x1.481f3a6c92554p-3,
      -0x1.23d4a3fd5d70cp-3,
      0x1.0ad09be2eb617p-3,
      -0x1.13c33354228a7p-3,
      0x1.0f5f15c4971ccp-3,
      -0x1.1d806243f610ap-4);
  return fma(f, q, to_f64(s.e));
}
AP_INLINE vf exp2_from_double(vd t) {
  constexpr double magic = 0x1.8p52;
  t = smaller(splat<vd>(130.0), larger(splat<vd>(-160.0), t));
  vd k = (t + magic) - magic;
  vd p = poly(
      t - k,
      0x1.ffffffffa70c3p-1,
      0x1.62e42fef6df5ep-1,
      0x1.ebfbe0aa0be2ep-3,
      0x1.c6b08e04af40dp-5,
      0x1.3b29d8b5b3957p-7,
      0x1.5d8717f51af29p-10,
      0x1.446c7d7fded82p-13,
      0x1.00f666e6e83e8p-16);
  return scale(to_f32(p), to_f32(k));
}
AP_INLINE vf pow(vf a, vf b) {
  vf size = abs(a);
  if (__builtin_expect(any(~((size < __builtin_inff()) & (abs(b) < __builtin_inff()))), 0))
    return pow_by_lane(a, b);
  vd log2_size = select(size == 0, splat<vd>(-1e300), log2_in_double(size));
  vf r = exp2_from_double(to_f64(b) * log2_size);
  mask whole = trunc(b) == b;
  mask odd = whole & (trunc(b * 0.5f) != b * 0.5f);
  r = with_sign(r, odd ? sign_bit(a) : vf{});
  return (a < 0) & ~whole ? splat(__builtin_nanf("")) : r;
}

}  // namespace ap
