// kernel: row_sum
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u) {
  float sum = 0;
  for (long j = 0; j < 20; ++j) sum += in0[u * n_j + j];
  out0[u] = sum * 2.0f;
}
