# kernel: scale
# rejected-by: check code=high-level-call
t0 = nn.relu(in0)
out0 = mx.multiply(in0, 3.0)
