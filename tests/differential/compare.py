"""What it means that two ways of running a program agree.

Where the contract fixes every bit, all must be the same. Elsewhere it leaves open how an elementary function is rounded and
in which order floats are summed, and which zero an extreme of +0 and -0 is. How far that may move a result is found by
trying: the graph is interpreted many times with each such operation moved by a few units in the last place at random. A result may differ by a few times what those
runs differ by. Elements that turn from finite into infinite or NaN among them are not decided by the program."""

import mlx.core as mx
import numpy as np

FACTOR = 4.0  # of the largest deviation found by trying
FIRST_RUNS, MORE_RUNS = 6, 40
UNIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52}


class Disagreement(AssertionError):
    """Two ways of running one program differ."""


def bits(array):
    """The bytes, with one NaN for all: its sign and payload are no contract."""
    array = mx.contiguous(array)
    if array.dtype in (mx.bfloat16, mx.float16, mx.float32):
        array = mx.where(mx.isnan(array), mx.array(float("nan"), array.dtype), array)
        as_integer = mx.uint32 if array.dtype == mx.float32 else mx.uint16
        return np.array(mx.view(array, as_integer)) if array.ndim else np.array(mx.view(array[None], as_integer))[0]
    if array.dtype == mx.complex64:
        parts = bits(mx.real(array)).astype(np.uint64), bits(mx.imag(array)).astype(np.uint64)
        return parts[0] << np.uint64(32) | parts[1]
    return np.array(array)


def numbers(array):
    if array.dtype == mx.complex64:
        return np.array(array).astype(np.complex128)
    if array.dtype in (mx.int64, mx.uint64):
        return np.array(array).astype(np.float64)
    return np.array(array.astype(mx.float32) if array.dtype != mx.float64 else array).astype(np.float64)


def same_type(what, ours, theirs):
    if len(ours) != len(theirs):
        raise Disagreement(f"{what}: {len(ours)} outputs, not {len(theirs)}")
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Disagreement(f"{what}: output {i} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}")


def describe(what, i, ours, theirs, wrong, allowed=None):
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.ndim else ()
    text = f"{what}: output {i} ({theirs.dtype}{tuple(theirs.shape)}) at {[int(k) for k in at]}: "
    text += f"{numbers(ours)[at]!r}, not {numbers(theirs)[at]!r}"
    if allowed is not None:
        text += f" (may differ by {allowed[at]:.3g})"
    return text + f"; {int(np.sum(wrong))} of {wrong.size} elements"


def same_bits(what, ours, theirs):
    same_type(what, ours, theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        wrong = bits(a) != bits(b)
        if np.any(wrong):
            raise Disagreement(describe(what, i, a, b, wrong))


def deviation(a, b):
    """Elementwise distance; infinite where one is finite and the other is not."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isfinite(a) & np.isfinite(b), distance, np.inf))


class Spread:
    """How far rounding alone may move the outputs of a graph, per output and element. `graphs`: functions of a seed (0:
    nothing is moved), each a form of the same program."""

    def __init__(self, graphs, dependent, zero_signs):
        """`dependent`, per output: whether rounding may move it at all; `zero_signs`: whether the sign of a zero is open, as
        it is after any sum (of one term also) and any extreme."""
        self.graphs, self.dependent, self.zero_signs = graphs, dependent, zero_signs
        self.runs, self.largest = 0, None

    def widen(self, runs):
        for interpret in self.graphs:
            base = [numbers(array) for array in interpret(0)]
            self.largest = self.largest or [np.zeros(np.shape(b)) for b in base]
            for seed in range(self.runs + 1, self.runs + runs + 1):
                for i, (a, b) in enumerate(zip(interpret(seed), base)):
                    self.largest[i] = np.maximum(self.largest[i], deviation(numbers(a), b))
        self.runs += runs

    def allowed(self, i, theirs):
        """Per element of output i."""
        if self.largest is None:
            self.widen(FIRST_RUNS)
        magnitude = np.abs(numbers(theirs))
        unit = UNIT.get(str(theirs.dtype).removeprefix("mlx.core."), 0.0)
        if not self.dependent[i]:
            unit = 0.0
        with np.errstate(invalid="ignore"):
            own = np.where(np.isfinite(magnitude), magnitude * unit, 0.0)
        return FACTOR * self.largest[i] + own


def agree(what, ours, theirs, spread, count):
    """Raises where they differ by more than rounding; counts elements that the program does not decide."""
    same_type(what, ours, theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        different = bits(a) != bits(b)
        if spread.zero_signs[i]:
            different &= ~((numbers(a) == 0) & (numbers(b) == 0))
        if not np.any(different):
            continue
        if not spread.dependent[i] and not spread.zero_signs[i]:
            raise Disagreement(describe(what + " (to the bit)", i, a, b, different))
        distance = deviation(numbers(a), numbers(b))
        allowed = spread.allowed(i, b)
        if np.any(distance > allowed) and spread.runs < MORE_RUNS:
            spread.widen(MORE_RUNS - spread.runs)
            allowed = spread.allowed(i, b)
        wrong = distance > allowed
        if np.any(wrong):
            raise Disagreement(describe(what, i, a, b, wrong, allowed))
        count["elements no program decides"] += int(np.sum(np.isinf(allowed)))
