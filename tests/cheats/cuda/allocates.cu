// kernel: scale
// rejected-by: check code=not-allowed
// without-check: gate
// launch: grid=ceil_div(n_i*n_j,256) block=256
float* more = (float*)malloc(64);
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
