# kernel: scale
# rejected-by: check code=output-not-written
t0 = mx.multiply(in0, 3.0)
