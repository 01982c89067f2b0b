// kernel: row_sum
// launch: grid=n_i block=64
__shared__ float parts[2];
float sum = 0.0f;
#pragma unroll
for (int j = threadIdx.x; j < n_j; j += 64) sum += in0[(long)blockIdx.x * n_j + j];
for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
__syncthreads();
if (threadIdx.x == 0) out0[blockIdx.x] = parts[0] + parts[1];
