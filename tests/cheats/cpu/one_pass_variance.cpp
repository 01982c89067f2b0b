// kernel: variance
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u) {
  float sum = 0, square_sum = 0;
  for (long j = 0; j < n_j; ++j) {
    const float x = in0[u * n_j + j];
    sum += x;
    square_sum += x * x;
  }
  const float mean = sum * 0.025f;
  out0[u] = square_sum * 0.025f - mean * mean;
}
