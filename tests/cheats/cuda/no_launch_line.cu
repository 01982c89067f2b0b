// kernel: scale
// rejected-by: check code=bad-launch
// without-check: -
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
