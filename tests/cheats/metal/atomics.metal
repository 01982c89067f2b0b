// kernel: scale
// rejected-by: check code=unknown-call
// launch: grid=ceil_div(n_i*n_j,256) block=256
atomic_fetch_add_explicit((device atomic_int*)out0, 1, memory_order_relaxed);
const long at = thread_position_in_grid.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
