"""What each op of a kernel means, said once more with NumPy and Python's math: the meaning of KernelIR that
numpy_kernel.py gives to a text, written from its documentation and MLX's, and sharing nothing with the C++.

Floats are arrays of the type that MLX computes them in: float32 (also those of f16 and bf16, whose values it holds
exactly), float64 for f64. The oracle has all of them in float64 and rounds nothing.
"""

import math
from dataclasses import dataclass, field

import numpy as np

INTEGERS = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
FLOATS = ("f16", "bf16", "f32", "f64")


def is_float(dtype):
    return dtype in FLOATS


def numpy_type(dtype, exact):
    """Of the arrays that hold a value of this dtype."""
    if dtype in INTEGERS:
        return INTEGERS[dtype]
    return np.float32 if exact and dtype != "f64" else np.float64


def to_bf16(array):
    """The nearest 16-bit prefix of a float32, ties to even."""
    bits = np.array(array, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(array), array, rounded).astype(np.float32)


def rounded(array, dtype, exact=True):
    """A float array as values of dtype: f16 and bf16 by way of f32. The oracle rounds nothing."""
    array = np.asarray(array)
    if not exact:
        return array.astype(np.float64)
    if dtype == "f64":
        return array.astype(np.float64)
    single = array.astype(np.float32)
    if dtype == "f16":
        return single.astype(np.float16).astype(np.float32)
    return to_bf16(single) if dtype == "bf16" else single


def to_integer(array, dtype):
    """Floats towards zero. What does not fit gives the most negative number, as x86 converts; integers narrower than 32
    bits are the low bits of an i32."""
    if dtype == "bool":
        return array != 0
    bits, low = (64, -(2.0**63)) if dtype in ("i64", "u64") else (32, -(2.0**31))
    whole = np.trunc(array.astype(np.float64))
    if dtype in ("u32", "u64"):
        high = whole >= -low
        lower = to_integer(np.where(high, whole + low, whole), f"i{bits}")
        return lower.view(f"u{bits // 8}") + np.where(high, np.uint64(2 ** (bits - 1)), 0).astype(INTEGERS[dtype])
    fits = (whole >= low) & (whole < -low)
    signed = np.where(fits, np.where(fits, whole, 0), low).astype(f"i{bits // 8}")
    return signed.astype(INTEGERS[dtype])


def converted(array, source, to, exact):
    """A cast. From an integer a float is rounded once to f32 (to f64 for f64), then to its dtype."""
    array = np.asarray(array)
    if not is_float(to):
        if is_float(source):
            return to_integer(array, to)
        return array != 0 if to == "bool" else array.astype(INTEGERS[to])
    return rounded(array.astype(numpy_type(to, exact)) if source in INTEGERS else array, to, exact)


@dataclass
class Meaning:
    """Of one op on operands of one dtype."""

    dtype: str
    result: str
    exact: bool
    attributes: dict = field(default_factory=dict)

    def round(self, array):
        return rounded(array, self.dtype, self.exact)


def through_math(scalar, exceptional):
    """An array function from one of Python's math, which is the C library's in double but raises where NumPy gives the
    infinity or NaN that IEEE 754 asks for."""

    def one(*numbers):
        try:
            return scalar(*numbers)
        except (ValueError, OverflowError):
            return float(exceptional(*map(np.float64, numbers)))

    def apply(*arrays):
        arrays = np.broadcast_arrays(*(np.asarray(array, np.float64) for array in arrays))
        flat = [one(*(float(number) for number in numbers)) for numbers in zip(*(array.ravel() for array in arrays))]
        return np.array(flat, np.float64).reshape(arrays[0].shape)

    return apply


def inverse_erf(x):
    """By bisection on whichever of erf and erfc does not cancel."""
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    if size == 0:
        return x
    low, high = 0.0, 6.0
    while low < (middle := (low + high) / 2) < high:
        below = math.erf(middle) < size if size < 0.5 else math.erfc(middle) > 1 - size
        low, high = (middle, high) if below else (low, middle)
    return math.copysign(high, x)


FUNCTIONS = {
    name: through_math(getattr(math, name), getattr(np, numpy_name))
    for name, numpy_name in {
        "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin",
        "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asin": "arcsin", "acos": "arccos",
        "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    }.items()
}  # fmt: skip
FUNCTIONS["erf"] = through_math(math.erf, lambda x: x)
FUNCTIONS["erfinv"] = through_math(inverse_erf, lambda x: x)
power_of_floats = through_math(math.pow, np.power)
ieee_remainder = through_math(math.remainder, np.remainder)
atan2 = through_math(math.atan2, np.arctan2)


def greater_of(a, b):
    """A NaN if either is one; of equals, such as 0.0 and -0.0, the second."""
    return np.where(np.isnan(a), a, np.where(a > b, a, b))


def lesser_of(a, b):
    return np.where(np.isnan(a), a, np.where(a < b, a, b))


def log_add_exp(meaning, a, b):
    high, low = greater_of(a, b), lesser_of(a, b)
    ratio = meaning.round(FUNCTIONS["exp"](meaning.round(low - high)))
    inside = meaning.round(high + meaning.round(FUNCTIONS["log1p"](ratio)))
    return np.where((low == -np.inf) | (high == np.inf), high, inside)


def sigmoid(meaning, x):
    """The exponential is rounded to the dtype, what follows is computed in f32 (f64 for f64) and rounded at the end."""
    if not meaning.exact:
        small = FUNCTIONS["exp"](-np.abs(x))
        return np.where(x < 0, small, 1) / (1 + small)
    one = numpy_type(meaning.dtype, True)(1)
    small = one / (one + meaning.round(FUNCTIONS["exp"](np.abs(x))))
    return meaning.round(np.where(x < 0, small, one - small))


def remainder_of_floats(meaning, a, b):
    """The IEEE remainder, moved to the sign of the divisor."""
    rest = meaning.round(ieee_remainder(a, b))
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), meaning.round(rest + b), rest)


FLOAT_OPS = {
    "abs": lambda m, a: np.abs(a),
    "neg": lambda m, a: -a,
    "sign": lambda m, a: (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype),  # of NaN and -0: 0
    "square": lambda m, a: m.round(a * a),
    "sqrt": lambda m, a: m.round(np.sqrt(a)),
    "rsqrt": lambda m, a: m.round(a.dtype.type(1) / m.round(np.sqrt(a))),
    "sigmoid": sigmoid,
    "floor": lambda m, a: np.floor(a),
    "ceil": lambda m, a: np.ceil(a),
    "round": lambda m, a: np.rint(a),
    "add": lambda m, a, b: m.round(a + b),
    "sub": lambda m, a, b: m.round(a - b),
    "mul": lambda m, a, b: m.round(a * b),
    "div": lambda m, a, b: m.round(a / b),
    "floor_divide": lambda m, a, b: np.floor(m.round(a / b)),
    "remainder": remainder_of_floats,
    "power": lambda m, a, b: m.round(power_of_floats(a, b)),
    "maximum": lambda m, a, b: greater_of(a, b),
    "minimum": lambda m, a, b: lesser_of(a, b),
    "logaddexp": log_add_exp,
    "atan2": lambda m, a, b: m.round(atan2(a, b)),
    **{name: lambda m, a, of=of: m.round(of(a)) for name, of in FUNCTIONS.items()},
}


def divided(a, b):
    """Towards minus infinity; by zero it is zero."""
    return np.where(b == 0, np.zeros_like(a), np.floor_divide(a, np.where(b == 0, np.ones_like(b), b)))


def rest_of(a, b):
    """With the sign of the divisor; by zero it is the dividend."""
    return np.where(b == 0, a, np.remainder(a, np.where(b == 0, np.ones_like(b), b)))


def integer_power(a, b):
    return np.where(b < 0, np.zeros_like(a), np.power(a, np.maximum(b, np.zeros_like(b))))


def shifted(shift):
    """The low bits of the count only; narrow integers shift as 32 bits wide."""

    def apply(a, b):
        if a.dtype.itemsize == 8:
            return shift(a, b & b.dtype.type(63))
        return shift(a.astype(np.int64), b.astype(np.int64) & 31).astype(a.dtype)

    return apply


INTEGER_OPS = {
    "abs": np.abs,
    "neg": np.negative,
    "sign": lambda a: (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype),
    "square": lambda a: a * a,
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "round": lambda a: a,
    "bitwise_invert": np.invert,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floor_divide": divided,
    "remainder": rest_of,
    "power": integer_power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": shifted(np.left_shift),
    "right_shift": shifted(np.right_shift),
}

TRUTHS = {
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}


def elementwise(op, meaning, operands):
    operands = [np.asarray(operand) for operand in operands]
    if op in ("copy", "stop_gradient"):
        return operands[0]
    if op == "cast":
        return converted(operands[0], meaning.dtype, meaning.result, meaning.exact)
    if op == "select":
        return np.where(*operands)
    if op == "equal":
        a, b = operands
        same = np.equal(a, b)
        return same | ((a != a) & (b != b)) if meaning.attributes.get("nan_equal") else same
    if op in TRUTHS:
        return TRUTHS[op](*operands)
    if is_float(meaning.dtype):
        return FLOAT_OPS[op](meaning, *operands)
    if meaning.dtype == "bool" and op != "bitwise_invert":  # arithmetic in integers; the result is whether it is not 0
        return INTEGER_OPS[op](*(operand.astype(np.int64) for operand in operands)) != 0
    return INTEGER_OPS[op](*operands)
