// kernel: scale
// rejected-by: gate code=not-run
// says: bytes of locals a thread
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
float all[20000];
#pragma unroll 1
for (int k = 0; k < 20000; ++k) all[k] = 0.5f * k;
if (at < n_i * n_j) {
  all[at % 20000] = in0[at] * 3.0f;
  out0[at] = all[(blockIdx.x * 256 + threadIdx.x) % 20000];
}
