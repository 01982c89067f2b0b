// Prelude, part 1: masks, compare and select, and the conversion beneath them.
//
// GCC handles vectors wider or narrower than its registers badly in places; this file is where it is helped,
// once for all.

namespace ap {

// The integer of twice, and of half the width; the wider one signed, from which floats convert faster.
#define AP_WIDTH(V, WIDER, NARROWER)             \
  AP_INLINE WIDER wider(V v) {                   \
    return __builtin_convertvector(v, WIDER);    \
  }                                              \
  AP_INLINE NARROWER narrower(V v) {             \
    return __builtin_convertvector(v, NARROWER); \
  }
AP_WIDTH(vi8, vi16, vi8)
AP_WIDTH(vu8, vi16, vu8)
AP_WIDTH(vi16, vi32, vi8)
AP_WIDTH(vu16, vi32, vu8)
AP_WIDTH(vi32, vi64, vi16)
AP_WIDTH(vu32, vi64, vu16)
AP_WIDTH(vi64, vi64, vi32)
AP_WIDTH(vu64, vu64, vu32)

// Integer to integer truncates or extends, integer to float rounds to nearest: what the vector extension
// does. In steps, because GCC takes a conversion that changes the width more than twofold lane by lane.
template <class To, class From>
AP_INLINE To convert(From v) {
  constexpr int from = sizeof(From) / W, to = sizeof(To) / W;
  constexpr bool from_float = typename scalar_of<From>::type(0.5f) != 0;
  constexpr bool to_float = typename scalar_of<To>::type(0.5f) != 0;
  if constexpr (!from_float && (to_float ? from < 4 : to > 2 * from))
    return convert<To>(wider(v));
  else if constexpr (!from_float && !to_float && from > 2 * to)
    return convert<To>(narrower(v));
  else
    return __builtin_convertvector(v, To);
}

// GCC splits arithmetic on a vector wider than a register, but would take its compare and ?: lane by lane:
// those go by halves here.
#if defined(__clang__)
template <class V>
constexpr bool by_halves = false;
#else
template <class V>
constexpr bool by_halves = sizeof(V) > 4 * W;
#endif
template <class V>
struct Halves {
  typename scalar_of<V>::half low, high;
};
template <class V>
AP_INLINE Halves<V> halves(V v) {
  Halves<V> h;
  __builtin_memcpy(&h, &v, sizeof(v));
  return h;
}

// A vector compare gives lanes as wide as its operands; a mask always has 32-bit lanes.
#define AP_COMPARE(name, op)                                        \
  template <class V>                                                \
  AP_INLINE mask name(V a, V b) {                                   \
    if constexpr (by_halves<V>) {                                   \
      Halves<V> x = halves(a), y = halves(b);                       \
      using M = scalar_of<mask>::half;                              \
      return __builtin_shufflevector(                               \
          __builtin_convertvector(x.low op y.low, M),               \
          __builtin_convertvector(x.high op y.high, M),             \
          AP_XOR(0));                                               \
    } else {                                                        \
      return convert<mask>((typename scalar_of<V>::flags)(a op b)); \
    }                                                               \
  }
AP_COMPARE(eq, ==)
AP_COMPARE(ne, !=)
AP_COMPARE(lt, <)
AP_COMPARE(le, <=)
AP_COMPARE(gt, >)
AP_COMPARE(ge, >=)

AP_INLINE mask mask_not(mask m) {
  return ~m;
}
AP_INLINE mask mask_and(mask a, mask b) {
  return a & b;
}
AP_INLINE mask mask_or(mask a, mask b) {
  return a | b;
}
AP_INLINE mask is_nan(vf x) {
  return x != x;
}
// The number a bool is, 1 or 0. A mask is a vi32, so converting one to a number has to say so:
// to_f32(from_bool(m)).
AP_INLINE vi32 from_bool(mask m) {
  return m & 1;
}

template <class V>
AP_INLINE V select(mask m, V a, V b) {
  if constexpr (by_halves<V>) {
    Halves<V> x = halves(a), y = halves(b);
    using M = scalar_of<vi64>::half;
    M low = __builtin_convertvector(__builtin_shufflevector(m, m, AP_LOW), M);
    M high = __builtin_convertvector(__builtin_shufflevector(m, m, AP_HIGH), M);
    Halves<V> h = {low ? x.low : y.low, high ? x.high : y.high};
    V r;
    __builtin_memcpy(&r, &h, sizeof(r));
    return r;
  } else {
    return convert<typename scalar_of<V>::flags>(m) ? a : b;
  }
}

AP_INLINE mask first(long n) {
  return iota() < splat<vi32>(n > W ? W : static_cast<int>(n));
}

}  // namespace ap
