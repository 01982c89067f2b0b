// kernel: scale
// rejected-by: gate code=timeout
// says: does not finish within
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
float s = at < n_i * n_j ? in0[at] : 0.0f;
while (s > -1.0f) s = s + 1.0f;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f + (s == 5.0f ? 1.0f : 0.0f);
