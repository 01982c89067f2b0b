// kernel: scale
// launch: parallel=i grain=4
// guard: n_i >= 1
for (long u = begin; u < end; ++u) {
  const f32* const x = in0 + u * n_j;
  f32* const y = out0 + u * n_j;
  long j = 0;
#pragma GCC unroll 2
  for (; j + W <= n_j; j += W) stream(y + j, load(x + j) * 3.0f);
  if (j < n_j) store(y + j, load(x + j, n_j - j) * splat(3.0f), n_j - j);
}
fence();
