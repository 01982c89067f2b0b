// kernel: total
// rejected-by: gate
// launch: parallel=i
if (begin == 0) out0[0] = 0;
float sum = 0;
for (long u = begin; u < end; ++u) sum += in0[u];
out0[0] = out0[0] + sum;
