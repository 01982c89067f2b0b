// Prelude, part 8: what goes lane by lane to libm, and f64.
//
// Every function of f64, and on vf the ones below, computed in double and rounded once. Right first; a vector
// form may replace any.
//
// Greatest error found, in ulp: 0.51 for all of tan, sinh, cosh, asin, acos, atan, asinh, acosh, atanh,
// atan2, erfinv.

namespace ap {

#define AP_SCALAR_F64(name)             \
  AP_INLINE vd name(vd x) {             \
    double t[W];                        \
    __builtin_memcpy(t, &x, sizeof(x)); \
    for (int l = 0; l < W; ++l)         \
      t[l] = __builtin_##name(t[l]);    \
    return raw_load<vd>(t);             \
  }
#define AP_SCALAR(name)                 \
  AP_SCALAR_F64(name)                   \
  AP_INLINE vf name(vf x) {             \
    float t[W];                         \
    __builtin_memcpy(t, &x, sizeof(x)); \
    for (int l = 0; l < W; ++l)         \
      t[l] = __builtin_##name(t[l]);    \
    return raw_load<vf>(t);             \
  }
#define AP_SCALAR_2(name, V, T)            \
  AP_INLINE V name(V a, V b) {             \
    T t[W], u[W];                          \
    __builtin_memcpy(t, &a, sizeof(a));    \
    __builtin_memcpy(u, &b, sizeof(b));    \
    for (int l = 0; l < W; ++l)            \
      t[l] = __builtin_##name(t[l], u[l]); \
    return raw_load<V>(t);                 \
  }

AP_SCALAR(tan)
AP_SCALAR(sinh)
AP_SCALAR(cosh)
AP_SCALAR(asin)
AP_SCALAR(acos)
AP_SCALAR(atan)
AP_SCALAR(asinh)
AP_SCALAR(acosh)
AP_SCALAR(atanh)
AP_SCALAR_2(atan2, vf, float)

AP_SCALAR_F64(exp)
AP_SCALAR_F64(exp2)
AP_SCALAR_F64(expm1)
AP_SCALAR_F64(log)
AP_SCALAR_F64(log2)
AP_SCALAR_F64(log10)
AP_SCALAR_F64(log1p)
AP_SCALAR_F64(tanh)
AP_SCALAR_F64(erf)
AP_SCALAR_F64(sin)
AP_SCALAR_F64(cos)
AP_SCALAR_F64(sqrt)
AP_SCALAR_F64(floor)
AP_SCALAR_F64(ceil)
AP_SCALAR_F64(trunc)
AP_SCALAR_2(pow, vd, double)
AP_SCALAR_2(atan2, vd, double)

AP_INLINE vd round(vd x) {
  for (int l = 0; l < W; ++l)
    x[l] = __builtin_rint(x[l]);
  return x;
}
AP_INLINE vd recip(vd x) {
  return 1.0 / x;
}
AP_INLINE vd rsqrt(vd x) {
  return 1.0 / sqrt(x);
}
// MLX's own form, whose exp(|x|) may be infinite.
AP_INLINE vd sigmoid(vd x) {
  vd y = 1.0 / (1.0 + exp(abs(x)));
  return select(lt(x, vd{}), y, 1.0 - y);
}
AP_INLINE vd logaddexp(vd a, vd b) {
  constexpr double inf = __builtin_inf();
  vd high = maximum(a, b);
  vd low = minimum(a, b);
  mask edge = eq(low, splat<vd>(-inf)) | eq(high, splat<vd>(inf));
  return select(edge, high, high + log1p(exp(low - high)));
}
AP_INLINE vd floor_divide(vd a, vd b) {
  return floor(a / b);
}
// As the vf form: the IEEE remainder, moved by b where its sign is not b's.
AP_INLINE vd remainder(vd a, vd b) {
  for (int l = 0; l < W; ++l)
    a[l] = __builtin_remainder(a[l], b[l]);
  return select(ne(a, vd{}) & (lt(a, vd{}) ^ lt(b, vd{})), a + b, a);
}

// Inverse of erf by Halley's method from an approximation by elementary functions (relative error 2e-3, cubed
// at each of three steps). Near 1 the complement 1 - |a| is exact and takes the place of a, so nothing
// cancels.
static __attribute__((noinline)) double erfinv_scalar(double a) {
  double size = __builtin_fabs(a);
  if (!(size < 1)) return size == 1 ? a * __builtin_inf() : __builtin_nan("");
  if (size < 1e-150) return a * 0.88622692545275801;
  double w = __builtin_log1p(-size * size);
  double h = 4.3307467508 + w / 2;
  double y = __builtin_sqrt(__builtin_sqrt(h * h - w / 0.147) - h);
  for (int i = 0; i < 3; ++i) {
    double error = size < 0.5 ? __builtin_erf(y) - size : (1 - size) - __builtin_erfc(y);
    double step = error / (1.1283791670955126 * __builtin_exp(-y * y));
    y -= step / (1 + y * step);
  }
  return a < 0 ? -y : y;
}
AP_INLINE vf erfinv(vf x) {
  for (int l = 0; l < W; ++l)
    x[l] = erfinv_scalar(x[l]);
  return x;
}
AP_INLINE vd erfinv(vd x) {
  for (int l = 0; l < W; ++l)
    x[l] = erfinv_scalar(x[l]);
  return x;
}

}  // namespace ap
