# kernel: scale
# rejected-by: check code=not-allowed
exec(in0)
out0 = mx.multiply(in0, 3.0)
