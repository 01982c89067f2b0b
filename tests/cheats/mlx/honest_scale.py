# kernel: scale
# three times
out0 = mx.multiply(in0, 3.0)
