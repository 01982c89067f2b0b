// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j] * 3.0f;
if (begin == 0) out0[-1024] = 1.0f;
