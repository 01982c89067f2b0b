// kernel: scale
// launch: grid=n_i block=40
const long at = (long)blockIdx.x * n_j + threadIdx.x;
out0[at] = in0[at] * 3.0f;
