# kernel: scale
# rejected-by: check code=not-allowed
t0 = eval(in0)
out0 = mx.multiply(in0, 3.0)
