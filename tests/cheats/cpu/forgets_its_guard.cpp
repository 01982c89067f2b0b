// kernel: scale
// rejected-by: gate
// launch: parallel=i align=8
// guard: aligned 64
for (long at = begin * n_j; at < end * n_j; at += W)
  *(vf*)(out0 + at) = *(const vf*)(in0 + at) * 3.0f;
