// kernel: scale
// rejected-by: check code=bad-lambda
// without-check: admitted: nobody calls it
// launch: grid=ceil_div(n_i*n_j,256) block=256
auto f = [&](auto self, int n) -> int { return n > 0 ? self(self, n - 1) : 0; };
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
