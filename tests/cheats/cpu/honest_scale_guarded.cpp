// kernel: scale
// launch: parallel=i align=8
// guard: n_i % 8 == 0, n_i >= 8, aligned 64
for (long at = begin * n_j; at < end * n_j; at += W)
  *(vf*)(out0 + at) = *(const vf*)(in0 + at) * 3.0f;
