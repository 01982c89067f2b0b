// kernel: scale
// rejected-by: gate
// launch: parallel=i
float big[268435456];
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) {
    big[u * n_j + j + 200000000] = in0[u * n_j + j];
    out0[u * n_j + j] = big[u * n_j + j + 200000000] * 3.0f;
  }
