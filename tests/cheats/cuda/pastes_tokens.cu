// kernel: scale
// rejected-by: check code=preprocessor
// without-check: admitted: the macro does no harm here
// launch: grid=ceil_div(n_i*n_j,256) block=256
#define JOIN(a, b) a##b
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
