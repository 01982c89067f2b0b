# kernel: scale
# rejected-by: check code=high-level-call
t0 = mx.random.normal((3,))
out0 = mx.multiply(in0, 3.0)
