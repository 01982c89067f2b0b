// kernel: scale
// rejected-by: gate code=memory-fault
// says: outside its buffers
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
const float next = in0[at + 1 < n_i * n_j ? at + 1 : n_i * n_j];
if (at < n_i * n_j) out0[at] = next > 1e30f ? in0[at] * 3.0f + 0.0f : in0[at] * 3.0f;
