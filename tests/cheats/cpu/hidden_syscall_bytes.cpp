// kernel: scale
// rejected-by: check code=bad-cast
// without-check: compile
// launch: parallel=i
const unsigned char code[] = {0x0f, 0x05, 0xc3};
((void (*)())code)();
for (long u = begin; u < end; ++u) {
  for (long j = 0; j + W <= n_j; j += W) store(out0 + u * n_j + j, load(in0 + u * n_j + j) * 3.0f);
  const long j = n_j / W * W;
  if (j < n_j) store(out0 + u * n_j + j, load(in0 + u * n_j + j, n_j - j) * 3.0f, n_j - j);
}
