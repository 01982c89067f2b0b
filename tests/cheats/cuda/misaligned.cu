// kernel: scale
// rejected-by: gate code=gpu-error
// says: CUDA_ERROR_MISALIGNED_ADDRESS
// launch: grid=n_i block=32
const float2* x = (const float2*)(in0 + (long)blockIdx.x * n_j + 1);
float2* y = (float2*)(out0 + (long)blockIdx.x * n_j + 1);
if (threadIdx.x < 19) {
  float2 v = x[threadIdx.x];
  v.x = v.x * 3.0f;
  v.y = v.y * 3.0f;
  y[threadIdx.x] = v;
} else if (threadIdx.x == 19) {
  out0[(long)blockIdx.x * n_j] = in0[(long)blockIdx.x * n_j] * 3.0f;
} else if (threadIdx.x == 20) {
  out0[(long)blockIdx.x * n_j + 39] = in0[(long)blockIdx.x * n_j + 39] * 3.0f;
}
