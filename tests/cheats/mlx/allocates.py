# kernel: scale
# rejected-by: check code=allocation
t0 = mx.zeros((1000000, 1000000))
out0 = mx.multiply(in0, 3.0)
