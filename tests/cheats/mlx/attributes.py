# kernel: scale
# rejected-by: check code=unexpected-token
out0 = in0.__class__
