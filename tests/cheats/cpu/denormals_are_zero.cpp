// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) {
    const float x = in0[u * n_j + j];
    out0[u * n_j + j] = __builtin_fabsf(x) < 1.0e-38f ? 0.0f : x * 3.0f;
  }
