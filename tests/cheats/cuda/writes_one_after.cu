// kernel: scale
// rejected-by: gate code=memory-fault
// says: writes 0 bytes past the end of %y
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
if (at == n_i * n_j - 1) out0[at + 1] = 1.0f;
