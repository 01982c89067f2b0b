// Prelude, part 11: what the built-in schedules need beside arithmetic.

namespace ap {

// One element in every lane.
template <class T>
AP_INLINE typename element<T>::value uniform(const T* p) {
  auto v = load(p, 1);
  return __builtin_shufflevector(v, v, AP_SAME(0));
}

// j + lane; lanes from n on repeat the last one, so that a gather stays inside.
AP_INLINE vi64 positions(long j, long n) {
  vi64 lanes = to_i64(iota());
  vi64 last = splat<vi64>(n - 1);
  return (lanes < last ? lanes : last) + j;
}

// The smallest index of a lane that holds `best`, in every lane.
template <class V>
AP_INLINE vi32 position_of(V lanes, V best, vi32 index) {
  return hmin(select(eq(lanes, best), index, splat<vi32>(0x7fffffff)));
}

// 0 when the first element of the row (lane 0 of `first`) is NaN.
AP_INLINE vi32 unless_nan_first(vf first, vi32 index) {
  vf element = __builtin_shufflevector(first, first, AP_SAME(0));
  return select(is_nan(element), vi32{}, index);
}

}  // namespace ap
