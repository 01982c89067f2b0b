// kernel: scale
// rejected-by: gate code=gpu-error
// says: CUDA_ERROR_MISALIGNED_ADDRESS
// launch: grid=n_i block=64
const float4* x = (const float4*)(in0 + (long)blockIdx.x * n_j);
float4* y = (float4*)(out0 + (long)blockIdx.x * n_j);
for (int j = threadIdx.x; j < n_j / 4; j += blockDim.x) {
  float4 v = __ldg(x + j);
  v.x = v.x * 3.0f;
  v.y = v.y * 3.0f;
  v.z = v.z * 3.0f;
  v.w = v.w * 3.0f;
  __stcs(y + j, v);
}
