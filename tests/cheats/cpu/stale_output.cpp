// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j)
    if (out0[u * n_j + j] != in0[u * n_j + j] * 3.0f) out0[u * n_j + j] = in0[u * n_j + j] * 3.0f + out0[u * n_j + j] * 0.0f;
