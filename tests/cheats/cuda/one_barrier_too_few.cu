// kernel: row_sum
// rejected-by: gate
// says: when it is watched
// launch: grid=ceil_div(n_i,8) block=64
__shared__ float parts[2];
for (int r = 0; r < 8; ++r) {
  const long i = (long)blockIdx.x * 8 + r;
  float sum = 0.0f;
  for (int j = threadIdx.x; j < n_j; j += 64) sum += i < n_i ? in0[i * n_j + j] : 0.0f;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0 && i < n_i) out0[i] = parts[0] + parts[1];
}
