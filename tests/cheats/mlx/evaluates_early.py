# kernel: scale
# rejected-by: check code=high-level-call
mx.eval(in0)
out0 = mx.multiply(in0, 3.0)
