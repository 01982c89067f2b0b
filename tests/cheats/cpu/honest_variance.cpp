// kernel: variance
// launch: parallel=i scratch=4*n_j
float* const row = (float*)scratch;
for (long u = begin; u < end; ++u) {
  auto total = [&](const float* x) __attribute__((always_inline)) {
    vf sum = splat(0.0f);
    for (long j = 0; j < n_j; j += W) {
      const long n = n_j - j < W ? n_j - j : W;
      sum = sum + (n == W ? load(x + j) : load(x + j, n));
    }
    return lane(hsum(sum));
  };
  const float mean = total(in0 + u * n_j) * 0.025f;
  for (long j = 0; j < n_j; ++j) {
    const float d = in0[u * n_j + j] - mean;
    row[j] = d * d;
  }
  out0[u] = total(row) * 0.025f;
}
