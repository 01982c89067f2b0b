// kernel: scale
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j + W <= n_j; j += W)
    store(out0 + u * n_j + j, round_bf16(load(in0 + u * n_j + j)) * 3.0f);
for (long u = begin; u < end; ++u)
  for (long j = n_j / W * W; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j] * 3.0f;
