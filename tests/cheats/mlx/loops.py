# kernel: scale
# rejected-by: check code=not-allowed
for i in in0:
    out0 = mx.multiply(in0, 3.0)
