# kernel: row_sum
out0 = mx.sum(in0, axis=1)
