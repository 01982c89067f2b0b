# kernel: scale
# rejected-by: check code=wrong-type
out0 = mx.multiply(in0.astype(mx.float16), 3.0)
