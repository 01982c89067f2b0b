# kernel: row_sum
# rejected-by: gate
t0 = mx.greater(mx.abs(in0), 0.05)
t1 = mx.where(t0, in0, 0.0)
out0 = mx.sum(t1, axis=1)
