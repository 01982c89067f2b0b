// Prelude, part 10: reductions across the lanes of one vector, each returning the result in every lane.
//
// A butterfly: lane l meets lane l ^ W/2, ..., l ^ 1. The order is fixed, so a sum is the same on every run
// of a target.

namespace ap {

template <class V, class F>
AP_INLINE V butterfly(V v, F f) {
#if AP_W >= 16
  v = f(v, __builtin_shufflevector(v, v, AP_XOR(8)));
#endif
#if AP_W >= 8
  v = f(v, __builtin_shufflevector(v, v, AP_XOR(4)));
#endif
  v = f(v, __builtin_shufflevector(v, v, AP_XOR(2)));
  return f(v, __builtin_shufflevector(v, v, AP_XOR(1)));
}

template <class V>
AP_INLINE V hsum(V v) {
  return butterfly(
      v, [](V a, V b) __attribute__((always_inline)) { return a + b; });
}
template <class V>
AP_INLINE V hprod(V v) {
  return butterfly(
      v, [](V a, V b) __attribute__((always_inline)) { return a * b; });
}
// max and min are not quite symmetric (+0 against -0, one NaN against another): lane 0 speaks for all.
template <class V>
AP_INLINE V hmax(V v) {
  v = butterfly(
      v, [](V a, V b) __attribute__((always_inline)) { return maximum(a, b); });
  return __builtin_shufflevector(v, v, AP_SAME(0));
}
template <class V>
AP_INLINE V hmin(V v) {
  v = butterfly(
      v, [](V a, V b) __attribute__((always_inline)) { return minimum(a, b); });
  return __builtin_shufflevector(v, v, AP_SAME(0));
}

AP_INLINE mask hany(mask m) {
  return splat_bool(any(m));
}
AP_INLINE mask hall(mask m) {
  return splat_bool(all(m));
}

}  // namespace ap
