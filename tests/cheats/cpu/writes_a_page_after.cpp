// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j] * 3.0f;
if (end == n_i) out0[n_i * n_j + 1024] = 1.0f;
