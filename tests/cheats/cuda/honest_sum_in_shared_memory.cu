// kernel: row_sum
// launch: grid=n_i block=64 shared=4*64
float* parts = (float*)shared;
float sum = 0.0f;
for (int j = threadIdx.x; j < n_j; j += 64) sum += in0[(long)blockIdx.x * n_j + j];
parts[threadIdx.x] = sum;
__syncthreads();
for (int step = 32; step > 0; step /= 2) {
  if (threadIdx.x < step) parts[threadIdx.x] = parts[threadIdx.x] + parts[threadIdx.x + step];
  __syncthreads();
}
if (threadIdx.x == 0) out0[blockIdx.x] = parts[0];
