// kernel: scale
// rejected-by: check code=output-not-written
// launch: grid=ceil_div(n_i*n_j,256) block=256
__syncthreads();
