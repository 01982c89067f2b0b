"""Is a result right? Against the double reference and against eager MLX, before anything is timed.

Errors are in units in the last place of the output's dtype, at the size of the element or of the output's root mean
square, whichever is larger: elements that cancel to nearly nothing do not count as wrong by millions of units.
"""

import dataclasses
import math

import mlx.core as mx
import mlx.utils
import numpy as np

MANTISSA_BITS = {mx.float32: 23, mx.float16: 10, mx.bfloat16: 7}
ORACLE_SLACK = 2.0  # ours may be as wrong as twice eager's error, and this many units more
EAGER_BUDGET = {mx.float32: 256.0, mx.float16: 16.0, mx.bfloat16: 16.0}  # where there is no oracle
# Beyond this, two results are not of one function. Eager itself is far from the oracle where it adds up many numbers
# one by one, and where every step of a chain rounds to half precision.
SAME_FUNCTION = {mx.float32: 2.0**18, mx.float16: 2.0**7, mx.bfloat16: 2.0**7}


@dataclasses.dataclass
class Accuracy:
    correct: bool
    against_eager: float  # units in the last place
    against_oracle: float = math.nan
    eager_against_oracle: float = math.nan
    failure: str = ""


def leaves(tree):
    return [leaf for _, leaf in mlx.utils.tree_flatten(tree)] if isinstance(tree, (list, tuple, dict)) else [tree]


def to_double(leaf):
    if not isinstance(leaf, mx.array):
        return np.asarray(leaf, dtype=np.float64)
    return np.array(leaf.astype(mx.float32) if leaf.dtype in MANTISSA_BITS else leaf, dtype=np.float64)


def distance(got, expected, dtype):
    """The largest error in units in the last place; infinity when shapes or the places of NaN and infinity differ."""
    got, expected = to_double(got), to_double(expected)
    if got.shape != expected.shape:
        return math.inf
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return math.inf
    got, expected = got[finite], expected[finite]
    if got.size == 0:
        return 0.0
    if dtype not in MANTISSA_BITS:
        return 0.0 if np.array_equal(got, expected) else math.inf
    size = np.maximum(np.abs(expected), math.sqrt(float(np.mean(np.square(expected)))))
    unit = np.exp2(np.floor(np.log2(np.maximum(size, 1e-30))) - MANTISSA_BITS[dtype])
    return float(np.max(np.abs(got - expected) / unit))


def worst(results, expected):
    pairs = list(zip(leaves(results), leaves(expected), strict=True))
    return max((distance(got, want, got.dtype) for got, want in pairs), default=0.0)


def limit(results, table):
    """Of the coarsest floating dtype among the results."""
    dtypes = [leaf.dtype for leaf in leaves(results) if leaf.dtype in MANTISSA_BITS]
    return table[min(dtypes, key=MANTISSA_BITS.get, default=mx.float32)]


def judge(results, eager, oracle=None):
    """`results` of ours, `eager` MLX's: trees of the same structure. `oracle`: their leaves in float64, or None."""
    against_eager = worst(results, eager)
    if oracle is None:
        allowed = limit(results, EAGER_BUDGET)
        right = against_eager <= allowed
        failure = "" if right else f"{against_eager:.1f} units from eager MLX, allowed {allowed:g}"
        return Accuracy(right, against_eager, failure=failure)
    ours, theirs = worst(results, oracle), worst(eager, oracle)
    allowed = ORACLE_SLACK + 2 * theirs
    if theirs > limit(eager, SAME_FUNCTION):  # the oracle is of the captured graph: then that is not the program's
        failure = f"the oracle and eager MLX are {theirs:.1f} units apart"
    elif ours > allowed:
        failure = f"{ours:.1f} units from the oracle, allowed {allowed:.1f} (eager: {theirs:.1f})"
    else:
        failure = ""
    return Accuracy(not failure, against_eager, ours, theirs, failure)
