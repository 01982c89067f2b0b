// kernel: scale
// rejected-by: check code=not-allowed
// launch: grid=ceil_div(n_i*n_j,256) block=256
goto done;
done:;
const long at = thread_position_in_grid.x;
if (at < n_i * n_j) out0[at] = in0[at] * 3.0f;
