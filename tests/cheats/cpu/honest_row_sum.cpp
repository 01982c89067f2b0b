// kernel: row_sum
// launch: parallel=i
for (long u = begin; u < end; ++u) {
  const float* x = in0 + u * n_j;
  vf sum[2] = {splat(0.0f), splat(0.0f)};
  long j = 0;
  for (; j + W <= n_j; j += W) sum[j / W % 2] = sum[j / W % 2] + load(x + j);
  if (j < n_j) sum[0] = sum[0] + load(x + j, n_j - j);
  out0[u] = lane(hsum(sum[0] + sum[1]));
}
