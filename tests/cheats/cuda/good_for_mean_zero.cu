// kernel: variance
// rejected-by: gate code=wrong-result
// says: expected
// launch: grid=ceil_div(n_i,64) block=64
const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (i < n_i) {
  float sum = 0.0f;
  for (int j = 0; j < n_j; ++j) sum += in0[i * n_j + j] * in0[i * n_j + j];
  out0[i] = sum * 0.025f;
}
