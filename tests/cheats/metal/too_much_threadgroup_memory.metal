// kernel: scale
// rejected-by: check code=launch-limit
// launch: grid=n_i block=64 shared=40960
const long at = thread_position_in_grid.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
