# kernel: scale
# rejected-by: check code=undefined-value
out0 = mx.multiply(x, 3.0)
