// kernel: scale
// rejected-by: check code=not-allowed
// without-check: admitted: the compiler leaves it out, as nobody uses it
// launch: parallel=i
float* more = new float[1024];
for (long u = begin; u < end; ++u) {
  for (long j = 0; j + W <= n_j; j += W) store(out0 + u * n_j + j, load(in0 + u * n_j + j) * 3.0f);
  const long j = n_j / W * W;
  if (j < n_j) store(out0 + u * n_j + j, load(in0 + u * n_j + j, n_j - j) * 3.0f, n_j - j);
}
