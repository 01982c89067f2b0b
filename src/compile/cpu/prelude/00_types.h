// The prelude of every generated CPU kernel, part 0: vector types, splat.
//
// The files of this folder are put in front of a kernel in the order of their names. They include nothing (a
// system header of intrinsics costs half a second a kernel) and use only what GCC and Clang share: vector
// extensions, plus target builtins under #if, always beside a generic form. Every logical vector has W lanes
// whatever its dtype, so a kernel never counts registers.
//
// Compile with -ffp-contract=off, -fno-trapping-math and -fwrapv (integers wrap, also the signed ones); with
// GCC also -Wno-psabi (its note about passing wide vectors: all is inlined).
//
// Arithmetic, bitwise and unary minus are the operators of the vectors themselves; integers wrap.
// Values of dtype f16 and bf16 live in `vf`, already rounded to that dtype. dtype bool lives in `mask`: lanes
// 0 or -1.

#define AP_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define AP_W 16
#define AP_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__)
#define AP_W 8
#define AP_AVX2 1
#else
#define AP_W 4
#if defined(__SSE2__)
#define AP_SSE2 1
#endif
#endif

// The lane numbers, each xor S; all of them S; the lower, the upper half: constant index lists for
// __builtin_shufflevector.
#if AP_W == 16
#define AP_XOR(S)                                                                                       \
  0 ^ S, 1 ^ S, 2 ^ S, 3 ^ S, 4 ^ S, 5 ^ S, 6 ^ S, 7 ^ S, 8 ^ S, 9 ^ S, 10 ^ S, 11 ^ S, 12 ^ S, 13 ^ S, \
      14 ^ S, 15 ^ S
#define AP_SAME(S) S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S
#define AP_LOW 0, 1, 2, 3, 4, 5, 6, 7
#define AP_HIGH 8, 9, 10, 11, 12, 13, 14, 15
#elif AP_W == 8
#define AP_XOR(S) 0 ^ S, 1 ^ S, 2 ^ S, 3 ^ S, 4 ^ S, 5 ^ S, 6 ^ S, 7 ^ S
#define AP_SAME(S) S, S, S, S, S, S, S, S
#define AP_LOW 0, 1, 2, 3
#define AP_HIGH 4, 5, 6, 7
#else
#define AP_XOR(S) 0 ^ S, 1 ^ S, 2 ^ S, 3 ^ S
#define AP_SAME(S) S, S, S, S
#define AP_LOW 0, 1
#define AP_HIGH 2, 3
#endif

namespace ap {

constexpr int W = AP_W;
constexpr float inf = __builtin_inff(), nan = __builtin_nanf("");

using f32 = float;
using f64 = double;
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct bool8 {
  u8 bits;
};

#define AP_VECTOR(name, T) typedef T name __attribute__((vector_size(AP_W * sizeof(T))))
AP_VECTOR(vf, f32);
AP_VECTOR(vd, f64);
AP_VECTOR(vi8, i8);
AP_VECTOR(vu8, u8);
AP_VECTOR(vi16, i16);
AP_VECTOR(vu16, u16);
AP_VECTOR(vi32, i32);
AP_VECTOR(vu32, u32);
AP_VECTOR(vi64, i64);
AP_VECTOR(vu64, u64);
using mask = vi32;

// What a stored element becomes: `raw` as it lies in memory, `value` in a register. And of a
// vector: its scalar, the lanes its compare gives (0 or -1), half of it.
template <class T>
struct element;
template <class V>
struct scalar_of;
#define AP_ELEMENT(T, RAW, VALUE) \
  template <>                     \
  struct element<T> {             \
    using raw = RAW;              \
    using value = VALUE;          \
  };
#define AP_NATIVE(T, V, FLAGS)                                         \
  AP_ELEMENT(T, V, V)                                                  \
  template <>                                                          \
  struct scalar_of<V> {                                                \
    using type = T;                                                    \
    using flags = FLAGS;                                               \
    typedef T half __attribute__((vector_size(AP_W * sizeof(T) / 2))); \
  };
AP_NATIVE(f32, vf, vi32)
AP_NATIVE(f64, vd, vi64)
AP_NATIVE(i8, vi8, vi8)
AP_NATIVE(u8, vu8, vi8)
AP_NATIVE(i16, vi16, vi16)
AP_NATIVE(u16, vu16, vi16)
AP_NATIVE(i32, vi32, vi32)
AP_NATIVE(u32, vu32, vi32)
AP_NATIVE(i64, vi64, vi64)
AP_NATIVE(u64, vu64, vi64)
AP_ELEMENT(f16, vu16, vf)
AP_ELEMENT(bf16, vu16, vf)
AP_ELEMENT(bool8, vu8, mask)

// x - 0 is x for every x, -0 and NaN included; 0 + x is not.
template <class V>
AP_INLINE V splat(typename scalar_of<V>::type x) {
  return x - V{};
}
AP_INLINE vf splat(float x) {
  return x - vf{};
}
AP_INLINE mask splat_bool(bool x) {
  return -static_cast<int>(x) - mask{};
}
template <class V>
AP_INLINE typename scalar_of<V>::type lane(V v) {
  return v[0];
}

AP_INLINE vi32 iota() {
  return vi32{AP_XOR(0)};
}
AP_INLINE vi32 bits(vf x) {
  return (vi32)x;
}
AP_INLINE vf from_bits(vi32 x) {
  return (vf)x;
}

// All lane numbers, for index lists that are computed.
template <int... L>
struct Lanes {};
#if AP_W == 16
using AllLanes = Lanes<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
#elif AP_W == 8
using AllLanes = Lanes<0, 1, 2, 3, 4, 5, 6, 7>;
#else
using AllLanes = Lanes<0, 1, 2, 3>;
#endif

}  // namespace ap
