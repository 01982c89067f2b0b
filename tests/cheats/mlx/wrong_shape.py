# kernel: scale
# rejected-by: check code=wrong-type
out0 = mx.sum(in0, axis=1)
