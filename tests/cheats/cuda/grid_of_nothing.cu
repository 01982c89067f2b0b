// kernel: scale
// rejected-by: check code=launch-limit
// without-check: -
// launch: grid=n_i-33 block=64
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
