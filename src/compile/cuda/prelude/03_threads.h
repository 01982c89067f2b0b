// CUDA prelude, part 4: reductions and scans over threads, in a fixed order, so that a result is the same on
// every run.

namespace ap {

vf shuffle_xor(vf x, int lanes) {
  return __shfl_xor_sync(0xffffffff, x, lanes);
}
mask shuffle_xor(mask x, int lanes) {
  return __shfl_xor_sync(0xffffffff, int(x), lanes) != 0;
}
template <class T>
Int<T> shuffle_xor(Int<T> x, int lanes) {
  return {T(__shfl_xor_sync(0xffffffff, x.n, lanes))};
}
vf shuffle_up(vf x, int lanes, int width) {
  return __shfl_up_sync(0xffffffff, x, lanes, width);
}
template <class T>
Int<T> shuffle_up(Int<T> x, int lanes, int width) {
  return {T(__shfl_up_sync(0xffffffff, x.n, lanes, width))};
}
vf shuffle(vf x, int lane, int width) {
  return __shfl_sync(0xffffffff, x, lane, width);
}
template <class T>
Int<T> shuffle(Int<T> x, int lane, int width) {
  return {T(__shfl_sync(0xffffffff, x.n, lane, width))};
}

// Over groups of N neighbouring lanes, N a power of two up to 32; every lane has the result of lane 0, which
// counts for max and min of +0 and -0.
template <int N, class V, class F>
V across(V v, F f) {
#pragma unroll
  for (int lanes = N / 2; lanes > 0; lanes /= 2) {
    V other = shuffle_xor(v, lanes);
    v = threadIdx.x & lanes ? f(other, v) : f(v, other);
  }
  return v;
}

// Over the lanes of a warp that lie below one another where N lie side by side; every lane has the result.
template <int N, class V, class F>
V down(V v, F f) {
#pragma unroll
  for (int lanes = 16; lanes >= N; lanes /= 2) {
    V other = shuffle_xor(v, lanes);
    v = threadIdx.x & lanes ? f(other, v) : f(v, other);
  }
  return v;
}

// A best element and where it is; of equals the first place counts.
template <class V>
struct Found {
  V best;
  vi32 at;
};
template <class V>
Found<V> shuffle_xor(Found<V> x, int lanes) {
  return {shuffle_xor(x.best, lanes), shuffle_xor(x.at, lanes)};
}
Exponentials shuffle_xor(Exponentials a, int lanes) {
  return {shuffle_xor(a.largest, lanes), shuffle_xor(a.sum, lanes)};
}
struct FirstMax {
  template <class V>
  Found<V> operator()(Found<V> a, Found<V> b) const {
    return beats_max(b.best, a.best) || (same_number(a.best, b.best) && b.at < a.at) ? b : a;
  }
};
struct FirstMin {
  template <class V>
  Found<V> operator()(Found<V> a, Found<V> b) const {
    return beats_min(b.best, a.best) || (same_number(a.best, b.best) && b.at < a.at) ? b : a;
  }
};

// The two halves of a reduction over a block of N warps, with a barrier between them.
template <class V>
void leave(void* slots, V v) {
  if (threadIdx.x % 32 == 0) ((V*)slots)[threadIdx.x / 32] = v;
}
template <int N, class V, class F>
V collect(const void* slots, F f) {
  return across<N>(((const V*)slots)[threadIdx.x % N], f);
}

// Scans: (before, element).
struct Plus {
  template <class V>
  V operator()(V before, V x) const {
    return before + x;
  }
};
struct Times {
  template <class V>
  V operator()(V before, V x) const {
    return before * x;
  }
};
struct Larger {
  template <class V>
  V operator()(V before, V x) const {
    return maximum(before, x);
  }
};
struct Smaller {
  template <class V>
  V operator()(V before, V x) const {
    return minimum(x, before);
  }
};
struct LogAddExp {
  template <class V>
  V operator()(V before, V x) const {
    return logaddexp(before, x);
  }
};

// x[0..N) of each thread, lane after lane (Down: from the last element to the first, the lanes counted from
// the end by the caller), over N lanes of a row that begins with `carry`, which becomes that of what follows.
// Lanes: threads of a row, up to 32, or whole warps, which then meet twice; slots: room for one V a warp.
template <int Lanes, class Op, bool Down, bool Inclusive, class V, int N>
void scan(V (&x)[N], V& carry, V identity, int lane, void* slots) {
  Op op;
  V all = x[Down ? N - 1 : 0];
#pragma unroll
  for (int k = 1; k < N; ++k)
    all = op(all, x[Down ? N - 1 - k : k]);
  constexpr int width = Lanes < 32 ? Lanes : 32;
  V up_to = all;
#pragma unroll
  for (int step = 1; step < width; step *= 2) {
    V other = shuffle_up(up_to, step, width);
    if (lane % width >= step) up_to = op(other, up_to);
  }
  V before = shuffle_up(up_to, 1, width);
  if (lane % width == 0) before = identity;
  V total = shuffle(up_to, width - 1, width);
  if constexpr (Lanes > 32) {
    V* warps = (V*)slots;
    if (lane % 32 == 31) warps[lane / 32] = up_to;
    __syncthreads();
    V base = identity;
    total = identity;
    for (int w = 0; w < Lanes / 32; ++w) {
      if (w < lane / 32) base = w == 0 ? warps[0] : op(base, warps[w]);
      total = w == 0 ? warps[0] : op(total, warps[w]);
    }
    if (lane >= 32) before = lane % 32 == 0 ? base : op(base, before);
    __syncthreads();
  }
  V running = lane == 0 ? carry : op(carry, before);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    V& element = x[Down ? N - 1 - k : k];
    V next = op(running, element);
    element = Inclusive ? next : running;
    running = next;
  }
  carry = op(carry, total);
}

}  // namespace ap
