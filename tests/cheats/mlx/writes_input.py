# kernel: scale
# rejected-by: check code=unexpected-token
in0[0] = 3
out0 = mx.multiply(in0, 3.0)
