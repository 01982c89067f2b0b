# kernel: variance
# rejected-by: gate
out0 = mx.multiply(mx.sum(mx.square(in0), axis=1), 0.025)
