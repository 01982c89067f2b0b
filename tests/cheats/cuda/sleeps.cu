// kernel: scale
// rejected-by: check code=unknown-call
// without-check: admitted: it only takes longer
// launch: grid=ceil_div(n_i*n_j,256) block=256
__nanosleep(1000000);
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
