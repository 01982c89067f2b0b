# kernel: scale
# rejected-by: check code=not-allowed
t0 = (lambda x: x)(in0)
out0 = mx.multiply(in0, 3.0)
