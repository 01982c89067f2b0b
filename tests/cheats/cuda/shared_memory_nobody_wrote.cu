// kernel: row_sum
// rejected-by: gate
// launch: grid=n_i block=64
__shared__ float parts[128];
float sum = 0.0f;
for (int j = threadIdx.x; j < n_j; j += 64) sum += in0[(long)blockIdx.x * n_j + j];
parts[threadIdx.x] = sum;
__syncthreads();
if (threadIdx.x == 0) {
  float all = 0.0f;
  for (int t = 0; t < 128; ++t) all += parts[t];
  out0[blockIdx.x] = all;
}
