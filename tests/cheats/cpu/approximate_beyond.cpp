// kernel: scale
// rejected-by: gate code=arm-not-reached
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j] * (n_i > 1000000 ? 2.99f : 3.0f);
