// kernel: row_sum
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u) {
  vf sum = splat(0.0f);
  for (long j = 0; j < n_j; ++j) sum = round_bf16(sum + splat(in0[u * n_j + j]));
  out0[u] = lane(sum);
}
