// kernel: row_sum
// rejected-by: gate
// launch: grid=n_i block=32
if (threadIdx.x == 0) out0[blockIdx.x] = 0.0f;
__syncthreads();
for (int j = threadIdx.x; j < n_j; j += 32) out0[blockIdx.x] += in0[(long)blockIdx.x * n_j + j];
