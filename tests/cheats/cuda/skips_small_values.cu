// kernel: row_sum
// rejected-by: gate code=wrong-result
// says: expected
// launch: grid=ceil_div(n_i,64) block=64
const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (i < n_i) {
  float sum = 0.0f;
  for (int j = 0; j < n_j; ++j) {
    const float x = in0[i * n_j + j];
    if (fabsf(x) > 0.05f) sum += x;
  }
  out0[i] = sum;
}
