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

// Where the share of a part with `mine` units begins that belongs to a chunk beginning at `at` of all units.
AP_INLINE long share(long at, long units, long mine, long align) {
  return at >= units ? mine : at * mine / units / align * align;
}

// argmax and argmin: a NaN beats every number and nothing beats a NaN, so the first one of a row is found.
AP_INLINE mask beats_max(vf x, vf best) {
  return gt(x, best) | (is_nan(x) & ~is_nan(best));
}
AP_INLINE mask beats_min(vf x, vf best) {
  return lt(x, best) | (is_nan(x) & ~is_nan(best));
}
template <class V>
AP_INLINE mask beats_max(V x, V best) {
  return gt(x, best);
}
template <class V>
AP_INLINE mask beats_min(V x, V best) {
  return lt(x, best);
}

AP_INLINE mask same_number(vf a, vf b) {
  return eq(a, b) | (is_nan(a) & is_nan(b));
}
template <class V>
AP_INLINE mask same_number(V a, V b) {
  return eq(a, b);
}

// Takes (other, at) where it beats (best, index), or is the same at a smaller index.
template <class V>
AP_INLINE void keep_first(mask beats, V& best, vi32& index, V other, vi32 at) {
  mask take = beats | (same_number(other, best) & lt(at, index));
  best = select(take, other, best);
  index = select(take, at, index);
}

// The smallest index of a lane that holds `best`, in every lane.
template <class V>
AP_INLINE vi32 position_of(V lanes, V best, vi32 index) {
  return hmin(select(same_number(lanes, best), index, splat<vi32>(0x7fffffff)));
}

// The sigmoid of a half dtype, whose exponential MLX rounds: `power` is e^|x| rounded.
AP_INLINE vf sigmoid_of(vf x, vf power) {
  vf small = 1.0f / (1.0f + power);
  return select(lt(x, vf{}), small, 1.0f - small);
}

}  // namespace ap
