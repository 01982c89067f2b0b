# kernel: scale
# rejected-by: check code=too-deep
t0 = mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(mx.exp(in0))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
out0 = mx.multiply(in0, 3.0)
