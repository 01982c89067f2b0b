// kernel: scale
// rejected-by: gate code=bad-write
// says: does not write %y
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j && out0[at] == 0.0f) out0[at] = in0[at] * 3.0f;
