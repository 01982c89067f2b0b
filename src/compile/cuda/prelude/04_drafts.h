// CUDA prelude, part 5: what drafts find beside CUDA's own: half numbers without CUDA's headers, computed
// with in float, and what the counted build does to show a race.

struct __half {
  unsigned short raw;
  __half() = default;
  __half(float x) : raw(ap::f16_bits(x)) {}
  operator float() const { return ap::from_f16(raw); }
};
struct __nv_bfloat16 {
  unsigned short raw;
  __nv_bfloat16() = default;
  __nv_bfloat16(float x) { ap::encode(*(ap::bf16*)this, ap::round_bf16(x)); }
  operator float() const { return ap::from_bf16(raw); }
};
struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

float __half2float(__half h) {
  return h;
}
__half __float2half_rn(float x) {
  return x;
}
float __bfloat162float(__nv_bfloat16 h) {
  return h;
}
__nv_bfloat16 __float2bfloat16_rn(float x) {
  return x;
}

#define AP_HALF(T)               \
  T& operator+=(T& a, float b) { \
    return a = a + b;            \
  }                              \
  T& operator-=(T& a, float b) { \
    return a = a - b;            \
  }                              \
  T& operator*=(T& a, float b) { \
    return a = a * b;            \
  }                              \
  T& operator/=(T& a, float b) { \
    return a = a / b;            \
  }
AP_HALF(__half)
AP_HALF(__nv_bfloat16)

// Moved as words of the same size.
#define AP_MOVED_AS(T, W)         \
  T __ldg(const T* p) {           \
    W word = __ldg((const W*)p);  \
    return *(const T*)&word;      \
  }                               \
  T __ldcs(const T* p) {          \
    W word = __ldcs((const W*)p); \
    return *(const T*)&word;      \
  }                               \
  void __stcs(T* p, T x) {        \
    __stcs((W*)p, *(const W*)&x); \
  }
AP_MOVED_AS(__half, unsigned short)
AP_MOVED_AS(__nv_bfloat16, unsigned short)
AP_MOVED_AS(__half2, unsigned)
AP_MOVED_AS(__nv_bfloat162, unsigned)
AP_MOVED_AS(bool, unsigned char)

namespace ap {

u32 thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// Warps wait, each for another time at each call: one that relies on another to be as fast, without a
// barrier, computes something else.
void stagger() {
  const i64 start = clock64();
  const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const u32 mixed = (u32(start) + thread_of_block() / 32 * 0x9e3779b9u + block * 0x85ebca6bu) * 0xc2b2ae35u;
  const i64 wait = i64(mixed >> 29) * 512;
  while (clock64() - start < wait) {
  }
}

// Shared memory holds what nobody wrote there. Every thread comes by.
void poison_bytes(void* data, u32 bytes) {
  for (u32 at = thread_of_block(); at < bytes; at += blockDim.x * blockDim.y * blockDim.z)
    ((u8*)data)[at] = 0xff;
  __syncthreads();
  stagger();
}
template <class T>
void poison(T& shared) {
  poison_bytes(&shared, sizeof(T));
}

}  // namespace ap
