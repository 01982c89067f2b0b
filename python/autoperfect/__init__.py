"""Auto-Perfect: verified kernels for MLX programs.

>>> import autoperfect as ap
>>> fast = ap.compile(fn)          # the signature and the semantics of mx.compile
>>> print(ap.explain(fn, x, w))    # what was fused and why, which kernels won, by how much
"""

from .compile import compile, explain

__version__ = "0.1.0"
__all__ = ["compile", "explain"]
