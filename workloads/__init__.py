"""Ordinary MLX functions, as programs have them: one list for tests, the demo and the benchmarks.

`WORKLOADS` maps a name to a `Workload`: the function, `make_args(size, dtype)`, and its kind (elementwise, reduction,
mixed). A size is (rows, columns); rows * columns elements of the main input, whatever its rank.
"""

from . import elementwise, mixed, reductions
from .workload import Workload

WORKLOADS = {w.name: w for w in (*elementwise.WORKLOADS, *reductions.WORKLOADS, *mixed.WORKLOADS)}

__all__ = ["WORKLOADS", "Workload"]
