# kernel: scale
# rejected-by: check code=not-allowed
import os
out0 = mx.multiply(in0, 3.0)
