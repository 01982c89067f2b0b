# kernel: scale
# rejected-by: check code=too-large
t0 = mx.broadcast_to(in0, (1000000, 33, 40))
out0 = mx.multiply(in0, 3.0)
