// kernel: scale
// rejected-by: gate code=memory-fault
// says: writes its input %x
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
const long back = in0 - out0;
if (at < n_i * n_j) {
  const float v = in0[at] * 3.0f;
  out0[at] = v;
  out0[at + back] = v;
}
