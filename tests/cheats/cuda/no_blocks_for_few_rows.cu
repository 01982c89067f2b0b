// kernel: scale
// rejected-by: gate code=gpu-error
// says: launch: no GPU takes a size of 0
// launch: grid=n_i/33 block=256
for (long at = (long)blockIdx.x * blockDim.x + threadIdx.x; at < n_i * n_j; at += (long)gridDim.x * blockDim.x)
  out0[at] = in0[at] * 3.0f;
