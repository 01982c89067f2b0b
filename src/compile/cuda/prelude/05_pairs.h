// CUDA prelude, part 6: two neighbouring elements of a half dtype in one word, so that one text of an
// operation computes both. Sums, differences and products, with their rounding, are one instruction for two;
// they are the same in f32 and rounded after, because f32 has two digits more than twice those of a half.

namespace ap {

template <class H>
struct Two {
  u32 raw;  // the first element is the low half
};
struct TwoF32 {
  float first, second;
};

float first(Two<bf16> x) {
  return __uint_as_float(x.raw << 16);
}
float second(Two<bf16> x) {
  return __uint_as_float(x.raw & 0xffff0000u);
}
float first(Two<f16> x) {
  return from_f16(u16(x.raw));
}
float second(Two<f16> x) {
  return from_f16(u16(x.raw >> 16));
}
float first(TwoF32 x) {
  return x.first;
}
float second(TwoF32 x) {
  return x.second;
}
float first(vf x) {
  return x;
}
float second(vf x) {
  return x;
}

Two<bf16> round_bf16(TwoF32 x) {
  u32 rounded;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x.second), "f"(x.first));
  return {rounded};
}
Two<f16> round_f16(TwoF32 x) {
  u32 rounded;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x.second), "f"(x.first));
  return {rounded};
}

// a * b + c, and its two numbers before they are rounded.
template <class H>
struct Unrounded {
  Two<H> a, b, c;
};
template <class H>
float first(Unrounded<H> x) {
  return fma(first(x.a), first(x.b), first(x.c));
}
template <class H>
float second(Unrounded<H> x) {
  return fma(second(x.a), second(x.b), second(x.c));
}
Two<bf16> round_bf16(Unrounded<bf16> x) {
  u32 rounded;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(rounded) : "r"(x.a.raw), "r"(x.b.raw), "r"(x.c.raw));
  return {rounded};
}
Two<f16> round_f16(Unrounded<f16> x) {
  u32 rounded;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(rounded) : "r"(x.a.raw), "r"(x.b.raw), "r"(x.c.raw));
  return {rounded};
}

// Of a number that is one of the half dtype already.
template <class H>
struct Half {};
template <>
struct Half<bf16> {
  static constexpr u32 one = 0x3f803f80u, minus_one = 0xbf80bf80u;
  static Two<bf16> both(vf x) {
    u32 bits = __float_as_uint(x);
    return {bits >> 16 | (bits & 0xffff0000u)};
  }
  static Two<bf16> rounded(TwoF32 x) { return round_bf16(x); }
};
template <>
struct Half<f16> {
  static constexpr u32 one = 0x3c003c00u, minus_one = 0xbc00bc00u;
  static Two<f16> both(vf x) { return round_f16(TwoF32{x, x}); }
  static Two<f16> rounded(TwoF32 x) { return round_f16(x); }
};
constexpr u32 minus_zero = 0x80008000u;
template <class H>
Two<H> twice(Two<H> x) {
  return x;
}
template <class H>
Two<H> twice(vf x) {
  return Half<H>::both(x);
}

// An operation of two pairs, or of a pair and what is the same for both.
#define AP_OF_TWO_PAIRS(Result, name, ...) \
  template <class H>                       \
  Result name(Two<H> a, Two<H> b) {        \
    __VA_ARGS__                            \
  }                                        \
  template <class H>                       \
  Result name(Two<H> a, vf b) {            \
    __VA_ARGS__                            \
  }                                        \
  template <class H>                       \
  Result name(vf a, Two<H> b) {            \
    __VA_ARGS__                            \
  }
AP_OF_TWO_PAIRS(Unrounded<H>, operator+, return {twice<H>(a), {Half<H>::one}, twice<H>(b)};)
AP_OF_TWO_PAIRS(Unrounded<H>, operator-, return {twice<H>(b), {Half<H>::minus_one}, twice<H>(a)};)
AP_OF_TWO_PAIRS(Unrounded<H>, operator*, return {twice<H>(a), twice<H>(b), {minus_zero}};)
#define AP_ONE_BY_ONE(name) return {name(first(a), first(b)), name(second(a), second(b))};
AP_OF_TWO_PAIRS(TwoF32, bf16_quotient, AP_ONE_BY_ONE(bf16_quotient))
AP_OF_TWO_PAIRS(TwoF32, half_scaled, AP_ONE_BY_ONE(half_scaled))
AP_OF_TWO_PAIRS(TwoF32, f16_quotient, AP_ONE_BY_ONE(f16_quotient))
AP_OF_TWO_PAIRS(TwoF32, sigmoid_of, AP_ONE_BY_ONE(sigmoid_of))
#define AP_EXACT(name) return Half<H>::rounded(TwoF32{name(first(a), first(b)), name(second(a), second(b))});
AP_OF_TWO_PAIRS(Two<H>, maximum, AP_EXACT(maximum))
AP_OF_TWO_PAIRS(Two<H>, minimum, AP_EXACT(minimum))

// In reductions, and of clamped numbers: as of one number.
#define AP_EXTREME(name, instruction)                                              \
  Two<bf16> name(Two<bf16> a, Two<bf16> b) {                                       \
    u32 c;                                                                         \
    asm(instruction ".NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a.raw), "r"(b.raw)); \
    return {c};                                                                    \
  }                                                                                \
  Two<f16> name(Two<f16> a, Two<f16> b) {                                          \
    u32 c;                                                                         \
    asm(instruction ".NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a.raw), "r"(b.raw));  \
    return {c};                                                                    \
  }
AP_EXTREME(largest, "max")
AP_EXTREME(smallest, "min")
template <class H>
Two<H> shuffle_xor(Two<H> x, int lanes) {
  return {__shfl_xor_sync(0xffffffff, x.raw, lanes)};
}

template <class H>
TwoF32 operator*(Unrounded<H> a, Two<H> b) {
  return {first(a) * first(b), second(a) * second(b)};
}
template <class H>
TwoF32 operator/(vf a, Two<H> b) {
  return {a / first(b), a / second(b)};
}
template <class H>
Two<H> operator-(Two<H> x) {
  return {x.raw ^ 0x80008000u};
}
template <class H>
Two<H> abs(Two<H> x) {
  return {x.raw & 0x7fff7fffu};
}

#define AP_OF_PAIRS(name)                     \
  template <class H>                          \
  TwoF32 name(Two<H> x) {                     \
    return {name(first(x)), name(second(x))}; \
  }
AP_OF_PAIRS(exp)
AP_OF_PAIRS(exp_of_half)
AP_OF_PAIRS(expm1)
AP_OF_PAIRS(log)
AP_OF_PAIRS(log2)
AP_OF_PAIRS(log10)
AP_OF_PAIRS(log1p)
AP_OF_PAIRS(tanh)
AP_OF_PAIRS(sin)
AP_OF_PAIRS(cos)
AP_OF_PAIRS(sqrt)

vf erf_of_half(vf x) {
  return erf_within(largest(smallest(x, erf_is_one), -erf_is_one));
}
template <class H>
TwoF32 erf_of_half(Two<H> x) {
  Two<H> most = Half<H>::both(erf_is_one), within = largest(smallest(x, most), -most);
  return {erf_within(first(within)), erf_within(second(within))};
}

// In memory.
template <class H, int N>
Two<H> pair(const Pack<H, N>& pack, int l) {
  return {((const u32*)&pack)[l / 2]};
}
template <class H, int N>
void put_pair(Pack<H, N>& pack, int l, Two<H> x) {
  ((u32*)&pack)[l / 2] = x.raw;
}

}  // namespace ap
