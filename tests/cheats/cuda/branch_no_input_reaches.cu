// kernel: scale
// rejected-by: gate code=arm-not-reached
// says: no input that was tried reaches this branch (then)
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
if (at == 1234567891) out0[0] = 7.0f;
