# kernel: scale
# rejected-by: check code=high-level-call
out0 = mx.fast.rms_norm(in0, in0, 1e-5)
