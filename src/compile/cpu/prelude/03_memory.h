// Prelude, part 3: load, store, stream, gather.
//
// Pointers need no alignment. A partial load or store (n < W) touches only the first n elements: not one byte
// past them. Raw bytes move first and are decoded or encoded after, so each dtype is one line.

namespace ap {

template <class R>
AP_INLINE R raw_load(const void* p) {
  R r;
  __builtin_memcpy(&r, p, sizeof(R));
  return r;
}
template <class R>
AP_INLINE void raw_store(void* p, R r) {
  __builtin_memcpy(p, &r, sizeof(R));
}

#if AP_AVX512
// Masked moves; a masked-off lane never faults. Vectors of 8-byte lanes are two registers.
typedef double half_vd __attribute__((vector_size(64)));
typedef char bytes __attribute__((vector_size(16)));

// The compilers disagree on what these builtins point to; this becomes either.
struct Address {
  const void* p;
  template <class T>
  __attribute__((always_inline)) operator T*() const {
    return (T*)p;
  }
};

// The lanes of which `m` has the bit.
template <class R>
AP_INLINE R raw_load_lanes(const void* p, unsigned m) {
  if constexpr (sizeof(R) == 16)
    return (R)__builtin_ia32_loaddquqi128_mask(Address{p}, bytes{}, m);
  else if constexpr (sizeof(R) == 32)
    return (R)__builtin_ia32_loaddquhi256_mask(Address{p}, vi16{}, m);
  else if constexpr (sizeof(R) == 64)
    return (R)__builtin_ia32_loadups512_mask((const float*)p, vf{}, m);
  else {
    half_vd h[2];
    h[0] = __builtin_ia32_loadupd512_mask((const double*)p, half_vd{}, m & 255);
    h[1] = __builtin_ia32_loadupd512_mask((const double*)p + 8, half_vd{}, m >> 8);
    return raw_load<R>(h);
  }
}
template <class R>
AP_INLINE void raw_store(void* p, R r, long n) {
  unsigned m = (1u << n) - 1;
  if constexpr (sizeof(R) == 16)
    __builtin_ia32_storedquqi128_mask(Address{p}, (bytes)r, m);
  else if constexpr (sizeof(R) == 32)
    __builtin_ia32_storedquhi256_mask(Address{p}, (vi16)r, m);
  else if constexpr (sizeof(R) == 64)
    __builtin_ia32_storeups512_mask((float*)p, (vf)r, m);
  else {
    half_vd h[2];
    raw_store(h, r);
    __builtin_ia32_storeupd512_mask((double*)p, h[0], m & 255);
    __builtin_ia32_storeupd512_mask((double*)p + 8, h[1], m >> 8);
  }
}
#else
// Unrolled, or the compilers would call memcpy, which a kernel is not linked with.
template <class R>
AP_INLINE R raw_load_lanes(const void* p, unsigned m) {
  using T = typename scalar_of<R>::type;
  R r{};
#pragma GCC unroll 8
  for (int l = 0; l < W; ++l)
    if (m >> l & 1) {
      T x;
      __builtin_memcpy(&x, (const char*)p + l * sizeof(T), sizeof(T));
      r[l] = x;
    }
  return r;
}
template <class R>
AP_INLINE void raw_store(void* p, R r, long n) {
  using T = typename scalar_of<R>::type;
#pragma GCC unroll 8
  for (int l = 0; l < W; ++l)
    if (l < n) {
      T x = r[l];
      __builtin_memcpy((char*)p + l * sizeof(T), &x, sizeof(T));
    }
}
#endif
template <class R>
AP_INLINE R raw_load(const void* p, long n) {
  return raw_load_lanes<R>(p, (1u << n) - 1);
}

template <class T>
AP_INLINE typename element<T>::value decode(element<T>, typename element<T>::raw r) {
  return r;
}
AP_INLINE vf decode(element<f16>, vu16 r) {
  return f16_to_f32(r);
}
AP_INLINE vf decode(element<bf16>, vu16 r) {
  return bf16_to_f32(r);
}
AP_INLINE mask decode(element<bool8>, vu8 r) {
  return to_i32(r) != 0;
}
template <class T>
AP_INLINE typename element<T>::raw encode(element<T>, typename element<T>::value v) {
  return v;
}
AP_INLINE vu16 encode(element<f16>, vf v) {
  return f32_to_f16(v);
}
AP_INLINE vu16 encode(element<bf16>, vf v) {
  return f32_to_bf16(v);
}
AP_INLINE vu8 encode(element<bool8>, mask v) {
  return to_u8(v & 1);
}

template <class T>
AP_INLINE typename element<T>::value load(const T* p) {
  return decode(element<T>{}, raw_load<typename element<T>::raw>(p));
}
template <class T>
AP_INLINE typename element<T>::value load(const T* p, long n) {
  return decode(element<T>{}, raw_load<typename element<T>::raw>(p, n));
}
template <class T>
AP_INLINE void store(T* p, typename element<T>::value v) {
  raw_store(p, encode(element<T>{}, v));
}
template <class T>
AP_INLINE void store(T* p, typename element<T>::value v, long n) {
  raw_store(p, encode(element<T>{}, v), n);
}

typedef long long words_16 __attribute__((vector_size(16)));
typedef long long words_32 __attribute__((vector_size(32)));
typedef long long words_64 __attribute__((vector_size(64)));

// A store that leaves the cache alone, for outputs no one reads again soon. Follow the last one by fence().
template <class R>
AP_INLINE void raw_stream(void* p, R r) {
#if defined(__clang__)
  __builtin_nontemporal_store(r, (R*)p);
#else
#if AP_AVX512
  if constexpr (sizeof(R) == 64) return __builtin_ia32_movntdq512((words_64*)p, (words_64)r);
#endif
#if AP_AVX512 || AP_AVX2
  if constexpr (sizeof(R) == 32) return __builtin_ia32_movntdq256((words_32*)p, (words_32)r);
#endif
#if AP_AVX512 || AP_AVX2 || AP_SSE2
  if constexpr (sizeof(R) == 16) return __builtin_ia32_movntdq((words_16*)p, (words_16)r);
#endif
  raw_store(p, r);
#endif
}
// Streaming needs an address that is a multiple of the bytes of W elements; anywhere else it is a plain
// store, slower and just as right.
template <class T>
AP_INLINE void stream(T* p, typename element<T>::value v) {
  auto r = encode(element<T>{}, v);
  if ((__UINTPTR_TYPE__)p % sizeof(r) == 0)
    raw_stream(p, r);
  else
    raw_store(p, r);
}
// W elements as they lie in memory: bits are not decoded, so a half type costs no conversion.
template <class T>
AP_INLINE void copy(T* to, const T* from) {
  raw_store(to, raw_load<typename element<T>::raw>(from));
}
template <class T>
AP_INLINE void copy(T* to, const T* from, long n) {
  raw_store(to, raw_load<typename element<T>::raw>(from, n), n);
}
template <class T>
AP_INLINE void stream_copy(T* to, const T* from) {
  auto r = raw_load<typename element<T>::raw>(from);
  if ((__UINTPTR_TYPE__)to % sizeof(r) == 0)
    raw_stream(to, r);
  else
    raw_store(to, r);
}
AP_INLINE void fence() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

AP_INLINE void prefetch(const void* p) {
  __builtin_prefetch(p);
}

// One scalar load a lane: the gather instructions are no faster, and do not exist for half-width elements.
template <class T, class Index>
AP_INLINE typename element<T>::value gather(const T* base, Index index) {
  T t[W];
#pragma GCC unroll 16
  for (int l = 0; l < W; ++l)
    t[l] = base[index[l]];
  return load(t);
}

}  // namespace ap
