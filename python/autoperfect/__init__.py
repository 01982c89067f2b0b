"""Auto-Perfect: verified kernels for MLX programs.

>>> import autoperfect as ap
>>> fast = ap.compile(fn)          # the signature and the semantics of mx.compile
>>> print(ap.explain(fn, x, w))    # what was fused and why, which kernels won, by how much
>>> report = ap.tune(fn, x, w, model="http://localhost:8080/v1#name")    # ask a model, keep what is proved and faster
>>> ap.gate("kernel.ap", "kernel.cpp")    # prove and time a kernel that somebody wrote
"""

from .compile import compile, explain
from .tune import gate, tune

__version__ = "0.1.0"
__all__ = ["compile", "explain", "gate", "tune"]
