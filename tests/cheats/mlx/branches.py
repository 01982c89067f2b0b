# kernel: scale
# rejected-by: check code=not-allowed
if True:
    out0 = mx.multiply(in0, 3.0)
