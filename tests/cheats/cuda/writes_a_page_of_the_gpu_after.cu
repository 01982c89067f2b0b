// kernel: scale
// rejected-by: gate code=memory-fault
// says: outside its buffers
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
if (at == 0) out0[n_i * n_j + 524288] = 1.0f;
