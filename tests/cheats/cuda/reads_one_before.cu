// kernel: scale
// rejected-by: gate code=memory-fault
// says: outside its buffers
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
const float last = in0[at < n_i * n_j ? at - 1 : 0];
if (at < n_i * n_j) out0[at] = last > 1e30f ? in0[at] * 3.0f + 0.0f : in0[at] * 3.0f;
