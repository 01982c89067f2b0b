# kernel: scale
# rejected-by: check code=text-literal
mx.save("x", in0)
out0 = mx.multiply(in0, 3.0)
