"""The meaning that the NumPy evaluation gives to each op is MLX's own, NaN, infinities, signed zeros and the ends of
integers included. Functions that MLX approximates are compared elsewhere, within their error."""

import mlx.core as mx
import numpy as np
import pytest
from numpy_kernel import evaluate, parse
from numpy_scalars import FLOATS, INTEGERS, Meaning, elementwise, numpy_type
from random_kernels import ON_FLOATS, SCANS
from test_numpy_kernel import as_numbers, numbers_of, ops_for

MLX_TYPES = {
    "bool": mx.bool_, "u8": mx.uint8, "u16": mx.uint16, "u32": mx.uint32, "u64": mx.uint64, "i8": mx.int8,
    "i16": mx.int16, "i32": mx.int32, "i64": mx.int64, "f16": mx.float16, "bf16": mx.bfloat16, "f32": mx.float32,
    "f64": mx.float64,
}  # fmt: skip
MLX_NAMES = {
    "neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide", "stop_gradient": "stop_gradient",
}  # fmt: skip
APPROXIMATED = {*ON_FLOATS, "logaddexp", "atan2"} - {"neg", "sqrt"}
WITHOUT_ZERO = ("floor_divide", "remainder")  # nor -1, of integers: the processor traps
MADE_HERE = ("copy",)


def to_mlx(array, dtype):
    return mx.array(array).view(mx.bfloat16) if dtype == "bf16" else mx.array(array, dtype=MLX_TYPES[dtype])


def from_mlx(array, dtype):
    return np.array(array.astype(mx.float32)) if dtype in ("f16", "bf16") else np.array(array)


def assert_same(ours, theirs, dtype, what):
    same = ours == theirs
    if dtype in FLOATS:
        same = (same & (np.signbit(ours) == np.signbit(theirs))) | (np.isnan(ours) & np.isnan(theirs))
    if not np.all(same):
        at = tuple(np.argwhere(~same)[0])
        pytest.fail(f"{what} at {at}: {ours[at]!r} by NumPy, {theirs[at]!r} by MLX")


def second_operands(op, dtype):
    numbers = numbers_of(dtype)
    if dtype in FLOATS:
        return numbers
    if op in WITHOUT_ZERO:
        return np.array([number for number in numbers.tolist() if number not in (0, -1)], numbers.dtype)
    return numbers[numbers >= 0] if op == "power" else numbers


def is_compared(op, dtype):
    name, _, to = op.partition(" ")
    # Out of range, a cast to u32 depends on where in the array it is; powers of floats are approximated.
    unsettled = name == "cast" and dtype in FLOATS and to in ("u32", "u64") or name == "power" and dtype in FLOATS
    return not unsettled and name not in APPROXIMATED and name not in MADE_HERE


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_elementwise(dtype):
    numbers = numbers_of(dtype)
    held = as_numbers(numbers, dtype, True).astype(numpy_type(dtype, True))
    for op, (count, result) in ops_for(dtype).items():
        if not is_compared(op, dtype):
            continue
        name, operands, arrays = op.split()[0], [held], [to_mlx(numbers, dtype)]
        if count == 2:
            others = second_operands(name, dtype)
            operands = [held[:, None], as_numbers(others, dtype, True).astype(numpy_type(dtype, True))[None, :]]
            arrays = [arrays[0][:, None], to_mlx(others, dtype)[None, :]]
        with np.errstate(all="ignore"):
            ours = elementwise(name, Meaning(dtype, result, True), operands)
        if name == "cast":
            made = arrays[0].astype(MLX_TYPES[result])
        else:
            made = getattr(mx, MLX_NAMES.get(name, name))(*arrays)
        assert made.dtype == MLX_TYPES[result], op
        assert_same(ours, from_mlx(made, result), result, f"{op} of {dtype}")


def along(op, dtype, result, attributes=""):
    """A kernel that reduces or scans along j."""
    index, shape = ("i,j", "6,7") if op in SCANS else ("i", "6")
    return (
        f"autoperfect.kernel 1\nkernel @k {{\n  abi {{\n    in %x: {dtype}[6,7] row\n    out %y: {result}[{shape}] row\n"
        f"  }}\n  math {{\n    axes i=6, j=7\n    %y[{index}] = {op}(j) %x[i,j]{attributes} : {result}\n"
        "  }\n  numerics {\n    accumulate f32\n  }\n}\n"
    )


def some_numbers(dtype, random):
    if dtype in FLOATS:
        of = [0.0, -0.0, 1.0, 2.0, -1.5, 0.5, np.nan, np.inf, -np.inf]
        numbers = random.choice(of, p=[0.2, 0.15, 0.15, 0.1, 0.1, 0.1, 0.05, 0.1, 0.05], size=(6, 7))
        if dtype == "bf16":
            return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return numbers.astype(f"f{int(dtype[1:]) // 8}")
    return random.choice(numbers_of(dtype), size=(6, 7))


def check_along(op, dtype, result, attributes, random, **options):
    x = some_numbers(dtype, random)
    (ours,) = evaluate(parse(along(op, dtype, result, attributes)), [x], True)
    theirs = getattr(mx, op)(to_mlx(x, dtype), axis=1, **options)
    assert theirs.dtype == MLX_TYPES[result]
    assert_same(as_numbers(ours, result, True), from_mlx(theirs, result), result, f"{op} of {dtype}{attributes}")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_scans(dtype):
    random = np.random.default_rng(1)
    for op in SCANS:
        result = "i32" if dtype == "bool" and op == "cumsum" else dtype
        for inclusive in (True, False):
            for reverse in (True, False):
                attributes = f" inclusive={str(inclusive).lower()} reverse={str(reverse).lower()}"
                for _ in range(4):
                    check_along(op, dtype, result, attributes, random, inclusive=inclusive, reverse=reverse)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_reductions(dtype):
    random = np.random.default_rng(2)
    wide = dtype if dtype in FLOATS or dtype.endswith("64") else "u32" if dtype[0] == "u" else "i32"
    results = {"any": "bool", "all": "bool", "argmax": "u32", "argmin": "u32", "max": dtype, "min": dtype}
    for op, result in (results | {"sum": wide, "prod": wide}).items():
        for _ in range(6):
            check_along(op, dtype, result, "", random)
