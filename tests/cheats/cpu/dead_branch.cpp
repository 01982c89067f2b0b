// kernel: scale
// rejected-by: gate code=arm-not-reached
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) {
    const float x = in0[u * n_j + j];
    out0[u * n_j + j] = x * 3.0f;
    if (x * 2.0f == x * 2.0f + 1.0f && x * 0.0f != 0.0f && x == x && x * 0.0f == x * 0.0f) out0[u * n_j + j] = 0.0f;
  }
