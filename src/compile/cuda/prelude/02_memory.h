// CUDA prelude, part 3: loads and stores of packs, neighbouring elements that one thread moves in as few
// instructions as alignment allows.

namespace ap {

template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Pack {
  T e[N];
};

// How often what is moved is used again: once (stream), or perhaps again.
struct Once {};
struct Again {};

template <class W>
W read(const W* p, Again) {
  return __ldg(p);
}
template <class W>
W read(const W* p, Once) {
  return __ldcs(p);
}
// One instruction: of a plain assignment of several words the compiler may make as many stores.
void store_word(uint4* p, uint4 x) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}
void store_word(uint2* p, uint2 x) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(x.x), "r"(x.y) : "memory");
}
template <class W>
void store_word(W* p, W x) {
  *p = x;
}
template <class W>
void write(W* p, W x, Again) {
  store_word(p, x);
}
template <class W>
void write(W* p, W x, Once) {
  __stcs(p, x);
}

// Words of B bytes.
template <int B>
struct Word {
  using type = uint4;
};
template <>
struct Word<1> {
  using type = u8;
};
template <>
struct Word<2> {
  using type = u16;
};
template <>
struct Word<4> {
  using type = u32;
};
template <>
struct Word<8> {
  using type = uint2;
};

// Aligned: p is, to the size of the pack or 16 bytes; else to that of an element.
template <int N, bool Aligned, class Use, class T>
Pack<T, N> load(const T* p, Use use) {
  Pack<T, N> pack;
  constexpr int bytes = sizeof(T) * N, width = !Aligned ? sizeof(T) : bytes > 16 ? 16 : bytes;
  using W = typename Word<width>::type;
#pragma unroll
  for (int w = 0; w < bytes / width; ++w)
    ((W*)&pack)[w] = read((const W*)p + w, use);
  return pack;
}
template <bool Aligned, class Use, class T, int N>
void store(T* p, const Pack<T, N>& pack, Use use) {
  constexpr int bytes = sizeof(T) * N, width = !Aligned ? sizeof(T) : bytes > 16 ? 16 : bytes;
  using W = typename Word<width>::type;
#pragma unroll
  for (int w = 0; w < bytes / width; ++w)
    write((W*)p + w, ((const W*)&pack)[w], use);
}
// Element l, which is known when the loop around it is unrolled. Of two bf16 in a word the second is an f32
// but for its low half.
template <class T, int N>
auto element_of(const Pack<T, N>& pack, int l) {
  return decode(pack.e[l]);
}
template <int N>
vf element_of(const Pack<bf16, N>& pack, int l) {
  if constexpr (N % 2 == 0) {
    u32 word = ((const u32*)&pack)[l / 2];
    return __uint_as_float(l % 2 ? word & 0xffff0000u : word << 16);
  } else {
    return decode(pack.e[l]);
  }
}
template <class T>
auto element(const T* p) {
  return decode(load<1, true>(p, Again{}).e[0]);
}
template <class T, class V>
void put(T* p, V x) {
  encode(*p, x);
}
template <class T, int N, class V>
Pack<T, N> filled(V x) {
  Pack<T, N> pack;
  for (int l = 0; l < N; ++l)
    put(&pack.e[l], x);
  return pack;
}

// 0 <= at < size.
bool inside(long at, long size) {
  return (unsigned long)at < (unsigned long)size;
}

// The number of elements a piece of code handles at once, known when it is compiled.
template <int N>
struct Width {
  static constexpr int n = N;
};

}  // namespace ap
