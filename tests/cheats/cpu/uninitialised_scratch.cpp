// kernel: row_sum
// rejected-by: gate
// launch: parallel=i scratch=64
for (long u = begin; u < end; ++u) {
  float sum = *(const float*)scratch;
  for (long j = 0; j < n_j; ++j) sum += in0[u * n_j + j];
  out0[u] = sum;
}
