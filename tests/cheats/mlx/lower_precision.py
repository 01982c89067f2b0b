# kernel: scale
# rejected-by: gate
t0 = in0.astype(mx.bfloat16)
t1 = mx.multiply(t0, 3.0)
out0 = t1.astype(mx.float32)
