// kernel: row_sum
// launch: grid=n_i block=32
float sum = 0.0f;
for (uint j = thread_index_in_simdgroup; j < n_j; j += 32)
  sum += in0[threadgroup_position_in_grid.x * n_j + j];
sum = simd_sum(sum);
if (thread_index_in_simdgroup == 0) out0[threadgroup_position_in_grid.x] = sum;
