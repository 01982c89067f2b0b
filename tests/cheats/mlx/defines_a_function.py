# kernel: scale
# rejected-by: check code=not-allowed
def f(x):
    return x
out0 = mx.multiply(in0, 3.0)
