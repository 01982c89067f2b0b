// kernel: scale
// rejected-by: check code=output-not-written
// without-check: gate
// launch: parallel=i
fence();
