// kernel: row_sum
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u) {
  float sum = 0;
  for (long j = 0; j < n_j; ++j) {
    const float x = in0[u * n_j + j];
    if (__builtin_fabsf(x) > 0.05f) sum += x;
  }
  out0[u] = sum;
}
