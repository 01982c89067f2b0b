// kernel: row_sum
// rejected-by: gate
// launch: parallel=i
for (long u = begin; u < end; ++u) out0[u] = 0.0f;
