# kernel: scale
# rejected-by: check code=high-level-call
t0 = mx.fast.metal_kernel(in0)
out0 = mx.multiply(in0, 3.0)
