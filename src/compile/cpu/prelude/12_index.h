// Prelude, part 12: loads whose index is a value, or may leave the buffer.
//
// Along the lanes a guarded load is inside where lo <= j < hi; the bounds are found once a row.

namespace ap {

// As MLX: negative counts from the end. What is still outside is clamped.
AP_INLINE long row(i64 index, long size) {
  index += index < 0 ? size : 0;
  return index < 0 ? 0 : index >= size ? size - 1 : index;
}
AP_INLINE long row(u64 index, long size) {
  return index >= (u64)size ? size - 1 : (long)index;
}
AP_INLINE long row(i32 index, long size) {
  return row((i64)index, size);
}
AP_INLINE long row(u32 index, long size) {
  return row((u64)index, size);
}
AP_INLINE vi64 rows(vi64 index, long size) {
  index = select(lt(index, vi64{}), index + size, index);
  index = select(lt(index, vi64{}), vi64{}, index);
  vi64 last = splat<vi64>(size - 1);
  return select(lt(index, last), index, last);
}
AP_INLINE vi64 rows(vu64 index, long size) {
  vu64 last = splat<vu64>((u64)size - 1);
  return (vi64)select(lt(index, last), index, last);
}
template <class V>
AP_INLINE vi64 rows(V index, long size) {
  return rows(to_i64(index), size);
}

// The same of buffers with fewer than 2^31 elements, in half the registers.
AP_INLINE vi32 rows_32(vi32 index, long size) {
  index = select(lt(index, vi32{}), index + (int)size, index);
  index = select(lt(index, vi32{}), vi32{}, index);
  vi32 last = splat<vi32>((int)size - 1);
  return select(lt(index, last), index, last);
}
AP_INLINE vi32 rows_32(vu32 index, long size) {
  vu32 last = splat<vu32>((u32)size - 1);
  return (vi32)select(lt(index, last), index, last);
}
AP_INLINE vi32 rows_32(vi64 index, long size) {
  return to_i32(rows(index, size));
}
AP_INLINE vi32 rows_32(vu64 index, long size) {
  return to_i32(rows(index, size));
}
template <class V>
AP_INLINE vi32 rows_32(V index, long size) {
  return rows_32(to_i32(index), size);
}
AP_INLINE vi32 positions_32(long j, long n) {
  vi32 last = splat<vi32>((int)n - 1);
  vi32 lanes = iota();
  return select(lt(lanes, last), lanes, last) + (int)j;
}

AP_INLINE long floor_divided(long a, long b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
// Narrows [lo, hi) to the j at which base + step * j lies in [0, size).
AP_INLINE void clip(long& lo, long& hi, long base, long step, long size) {
  long from = lo, to = hi;
  if (step == 0) {
    if (base < 0 || base >= size) to = from;
  } else if (step > 0) {
    from = -floor_divided(base, step);
    to = floor_divided(size - 1 - base, step) + 1;
  } else {
    from = -floor_divided(size - 1 - base, -step);
    to = floor_divided(base, -step) + 1;
  }
  lo = from > lo ? from : lo;
  hi = to < hi ? to : hi;
}

// Lanes of j, j + 1, ..., j + n - 1 that lie in [lo, hi), as bits. No row has 2^31 elements.
AP_INLINE unsigned lanes_within(long j, long n, long lo, long hi) {
#if AP_AVX512
  vi32 at = iota() + splat<vi32>((int)(j - lo)), end = splat<vi32>((int)(hi - lo));
  unsigned inside = hi <= lo ? 0 : __builtin_ia32_ucmpd512_mask(at, end, 1, -1);
  return inside & ((1u << n) - 1);
#else
  long from = lo - j, to = hi - j;
  from = from < 0 ? 0 : from > W ? W : from;
  to = to > n ? n : to;
  return to > from ? (1u << to) - (1u << from) : 0;
#endif
}
AP_INLINE mask lanes_of(unsigned m) {
#if AP_AVX512
  return (mask)__builtin_ia32_cvtmask2d512((unsigned short)m);
#else
  return ((splat<vi32>((int)m) >> iota()) & 1) != 0;
#endif
}

// p[l * Stride], the first n lanes.
template <int Stride, class T>
AP_INLINE typename element<T>::value load_strided(const T* p, long n) {
  T t[W];
#pragma GCC unroll 16
  for (int l = 0; l < W; ++l)
    t[l] = p[(l < n ? l : 0) * Stride];
  return load(t);
}
template <class V, int... L>
AP_INLINE V evens(V low, V high, Lanes<L...>) {
  return __builtin_shufflevector(low, high, (L < W / 2 ? 2 * L : L * 2 + 1)...);
}
template <class V, int... L>
AP_INLINE V reversed(V v, Lanes<L...>) {
  return __builtin_shufflevector(v, v, (W - 1 - L)...);
}
template <int Stride, class T>
AP_INLINE typename element<T>::value load_strided(const T* p) {
  using R = typename element<T>::raw;
  if constexpr (Stride == -1)
    return decode(element<T>{}, reversed(raw_load<R>(p - (W - 1)), AllLanes{}));
  else if constexpr (Stride == 2)  // the second half begins a step early, so that nothing past the last is
                                   // read
    return decode(element<T>{}, evens(raw_load<R>(p), raw_load<R>(p + W - 1), AllLanes{}));
  else
    return load_strided<Stride>(p, W);
}

template <class T>
AP_INLINE typename element<T>::value uniform_within(
    const T* p, bool inside, typename element<T>::value fill) {
  return inside ? uniform(p) : fill;
}
// Most vectors are inside or outside as a whole; zeros are what a load of no lane gives.
template <class T>
AP_INLINE typename element<T>::value load_within(const T* p, long j, long n, long lo, long hi) {
  if (j >= lo && j + n <= hi && n >= W) return load(p);
  using R = typename element<T>::raw;
  return decode(element<T>{}, raw_load_lanes<R>(p, lanes_within(j, n, lo, hi)));
}
template <class T>
AP_INLINE typename element<T>::value load_within(
    const T* p, long j, long n, long lo, long hi, typename element<T>::value fill) {
  if (j >= lo && j + n <= hi && n >= W) return load(p);
  using R = typename element<T>::raw;
  unsigned m = lanes_within(j, n, lo, hi);
  return select(lanes_of(m), decode(element<T>{}, raw_load_lanes<R>(p, m)), fill);
}
template <class T, class Index>
AP_INLINE typename element<T>::value gather_within(
    const T* base, Index index, long j, long n, long lo, long hi, typename element<T>::value fill) {
  unsigned m = lanes_within(j, n, lo, hi);
  T t[W] = {};
#pragma GCC unroll 16
  for (int l = 0; l < W; ++l)
    if (m >> l & 1) t[l] = base[index[l]];
  return select(lanes_of(m), load(t), fill);
}

// v[l] to base[l * stride], the first n lanes.
template <class T>
AP_INLINE void scatter(T* base, long stride, typename element<T>::value v, long n) {
  T t[W];
  store(t, v);
#pragma GCC unroll 16
  for (int l = 0; l < W; ++l)
    if (l < n) base[l * stride] = t[l];
}

}  // namespace ap
