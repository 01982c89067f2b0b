// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; j += 32)
    for (long l = 0; l < 32; ++l) out0[u * n_j + j + l] = in0[u * n_j + j + l] * 3.0f;
