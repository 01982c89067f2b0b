// kernel: scale
// rejected-by: check code=output-not-written
// without-check: gate
// launch: grid=ceil_div(n_i*n_j,256) block=256
__syncthreads();
