// CUDA prelude, part 5: two neighbouring bf16 in one word, so that one text of an operation computes both. Sums,
// differences and products that are rounded to bf16 are one instruction for two; the same as in f32, which has more
// than twice the digits, and rounded after.

namespace ap {

struct bf16x2 {
  u32 raw;  // the first element is the low half
};
struct f32x2 {
  float low, high;
};

float low(bf16x2 x) {
  return __uint_as_float(x.raw << 16);
}
float high(bf16x2 x) {
  return __uint_as_float(x.raw & 0xffff0000u);
}
float low(f32x2 x) {
  return x.low;
}
float high(f32x2 x) {
  return x.high;
}
float low(vf x) {
  return x;
}
float high(vf x) {
  return x;
}

bf16x2 round_bf16(f32x2 x) {
  u32 rounded;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x.high), "f"(x.low));
  return {rounded};
}
// Of one that is a bf16 already.
bf16x2 twice(vf x) {
  u32 bits = __float_as_uint(x);
  return {bits >> 16 | (bits & 0xffff0000u)};
}
bf16x2 twice(bf16x2 x) {
  return x;
}

// a * b + c, and what becomes of it when it is not rounded: a number of more digits.
struct Unrounded {
  bf16x2 a, b, c;
};
constexpr u32 one = 0x3f803f80u, minus_one = 0xbf80bf80u, minus_zero = 0x80008000u;
bf16x2 round_bf16(Unrounded x) {
  u32 rounded;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(rounded) : "r"(x.a.raw), "r"(x.b.raw), "r"(x.c.raw));
  return {rounded};
}
float low(Unrounded x) {
  return fma(low(x.a), low(x.b), low(x.c));
}
float high(Unrounded x) {
  return fma(high(x.a), high(x.b), high(x.c));
}

template <class A, class B>
struct only_pairs {};
template <>
struct only_pairs<bf16x2, bf16x2> {
  using sum = Unrounded;
};
template <>
struct only_pairs<bf16x2, vf> {
  using sum = Unrounded;
};
template <>
struct only_pairs<vf, bf16x2> {
  using sum = Unrounded;
};
template <class A, class B>
typename only_pairs<A, B>::sum operator+(A a, B b) {
  return {twice(a), {one}, twice(b)};
}
template <class A, class B>
typename only_pairs<A, B>::sum operator-(A a, B b) {
  return {twice(b), {minus_one}, twice(a)};
}
template <class A, class B>
typename only_pairs<A, B>::sum operator*(A a, B b) {
  return {twice(a), twice(b), {minus_zero}};
}
f32x2 operator*(Unrounded a, bf16x2 b) {
  return {low(a) * low(b), high(a) * high(b)};
}
f32x2 operator/(vf a, bf16x2 b) {
  return {a / low(b), a / high(b)};
}
bf16x2 operator-(bf16x2 x) {
  return {x.raw ^ 0x80008000u};
}
bf16x2 abs(bf16x2 x) {
  return {x.raw & 0x7fff7fffu};
}

#define AP_OF_PAIRS(name)                \
  f32x2 name(bf16x2 x) {                 \
    return {name(low(x)), name(high(x))}; \
  }
AP_OF_PAIRS(exp)
AP_OF_PAIRS(expm1)
AP_OF_PAIRS(log)
AP_OF_PAIRS(log2)
AP_OF_PAIRS(log10)
AP_OF_PAIRS(log1p)
AP_OF_PAIRS(tanh)
AP_OF_PAIRS(sin)
AP_OF_PAIRS(cos)
AP_OF_PAIRS(erf)
AP_OF_PAIRS(sqrt)

#define AP_OF_TWO_PAIRS(name)                                            \
  template <class A, class B, class Pair = typename only_pairs<A, B>::sum> \
  f32x2 name(A a, B b) {                                                 \
    return {name(low(a), low(b)), name(high(a), high(b))};               \
  }
AP_OF_TWO_PAIRS(bf16_quotient)
AP_OF_TWO_PAIRS(sigmoid_of)
template <class A, class B, class Pair = typename only_pairs<A, B>::sum>
bf16x2 maximum(A a, B b) {
  return round_bf16(f32x2{maximum(low(a), low(b)), maximum(high(a), high(b))});
}
template <class A, class B, class Pair = typename only_pairs<A, B>::sum>
bf16x2 minimum(A a, B b) {
  return round_bf16(f32x2{minimum(low(a), low(b)), minimum(high(a), high(b))});
}

// In memory.
template <int N>
bf16x2 pair(const Pack<bf16, N>& pack, int l) {
  return {((const u32*)&pack)[l / 2]};
}
template <int N>
void put_pair(Pack<bf16, N>& pack, int l, bf16x2 x) {
  ((u32*)&pack)[l / 2] = x.raw;
}
template <int N>
void put_pair(Pack<bf16, N>& pack, int l, vf x) {
  put_pair(pack, l, twice(x));
}

}  // namespace ap
