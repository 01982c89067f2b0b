// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) {
    const float x = in0[u * n_j + j];
    out0[u * n_j + j] = x > 1234.5f ? 3703.5f : x * 3.0f;
  }
