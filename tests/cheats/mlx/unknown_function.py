# kernel: scale
# rejected-by: check code=high-level-call
out0 = mx.launder(in0)
