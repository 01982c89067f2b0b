// kernel: total
// launch: parallel=i grain=256 align=16 partial=64
vf sum = splat(0.0f);
long u = begin;
for (; u + W <= end; u += W) sum = sum + load(in0 + u);
if (u < end) sum = sum + load(in0 + u, end - u);
*(float*)partial = lane(hsum(sum));
// finish:
float sum = 0;
for (long c = 0; c < chunks; ++c) sum += *(const float*)(partials + c * partial_step);
out0[0] = sum;
