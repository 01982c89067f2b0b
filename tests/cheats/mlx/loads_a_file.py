# kernel: scale
# rejected-by: check code=high-level-call
t0 = mx.load("x")
out0 = mx.multiply(in0, 3.0)
