// kernel: row_sum
// rejected-by: gate code=gpu-error
// says: launch
// launch: grid=n_i block=64 shared=32768
__shared__ float parts[8000];
float sum = 0.0f;
for (int j = threadIdx.x; j < n_j; j += 64) sum += in0[(long)blockIdx.x * n_j + j];
parts[threadIdx.x] = sum;
((float*)shared)[threadIdx.x] = sum;
__syncthreads();
if (threadIdx.x == 0) {
  float all = 0.0f;
  for (int t = 0; t < 64; ++t) all += t % 2 == 0 ? parts[t] : ((float*)shared)[t];
  out0[blockIdx.x] = all;
}
