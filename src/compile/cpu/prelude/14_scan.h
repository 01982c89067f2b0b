// Prelude, part 14: scans: each lane what an operation makes of all before it, across vectors by a carry that
// holds the same in every lane. Operations take (before, element).

namespace ap {

struct Plus {
  template <class V>
  static __attribute__((always_inline)) V of(V before, V x) {
    return before + x;
  }
};
struct Times {
  template <class V>
  static __attribute__((always_inline)) V of(V before, V x) {
    return before * x;
  }
};
// Of equals, such as 0 and -0, the later one; NaN stays.
struct Larger {
  template <class V>
  static __attribute__((always_inline)) V of(V before, V x) {
    return maximum(before, x);
  }
};
// Of equals the earlier one.
struct Smaller {
  template <class V>
  static __attribute__((always_inline)) V of(V before, V x) {
    return minimum(x, before);
  }
};
struct LogAddExp {
  template <class V>
  static __attribute__((always_inline)) V of(V before, V x) {
    return logaddexp(before, x);
  }
};

// Lane l of a where lane l + S (or l - S, going up) of the vector is none: `fill`.
template <int S, bool Down, class V, int... L>
AP_INLINE V shifted(V v, V fill, Lanes<L...>) {
  if constexpr (Down)
    return __builtin_shufflevector(v, fill, (L + S < W ? L + S : W + L)...);
  else
    return __builtin_shufflevector(v, fill, (L >= S ? L - S : W + L)...);
}
template <int S, bool Down, class Op, class V>
AP_INLINE V scan_step(V v, V identity) {
  return Op::of(shifted<S, Down>(v, identity, AllLanes{}), v);
}

// Down: from the last lane to the first.
template <class Op, bool Down, bool Inclusive, class V>
AP_INLINE V scan(V v, V& carry, V identity) {
  v = scan_step<1, Down, Op>(v, identity);
  v = scan_step<2, Down, Op>(v, identity);
#if AP_W >= 8
  v = scan_step<4, Down, Op>(v, identity);
#endif
#if AP_W >= 16
  v = scan_step<8, Down, Op>(v, identity);
#endif
  V before = carry;
  v = Op::of(before, v);
  if constexpr (Down)
    carry = __builtin_shufflevector(v, v, AP_SAME(0));
  else
    carry = __builtin_shufflevector(v, v, AP_SAME((W - 1)));
  return Inclusive ? v : shifted<1, Down>(v, before, AllLanes{});
}

// Each lane a scan of its own.
template <class Op, bool Inclusive, class V>
AP_INLINE V scan_rows(V x, V& carry) {
  V before = carry;
  carry = Op::of(before, x);
  return Inclusive ? carry : before;
}

}  // namespace ap
