"""The reference executor and the NumPy evaluation of numpy_kernel.py agree, bit for bit, on every kernel of the golden
tests, on every op and on random kernels, in both precisions."""

import re
import subprocess

import numpy as np
import pytest
from conftest import ROOT
from numpy_kernel import evaluate, parse
from numpy_scalars import FLOATS, INTEGERS
from random_kernels import BITS, COMPARISONS, ON_ANY, ON_FLOATS, ON_REALS, PAIRS, Maker, random_kernel
from reference_executor import CLI, run_reference

PRECISIONS = [pytest.param(True, id="exact"), pytest.param(False, id="oracle")]
SEEDS_A_TEST = 15


def as_numbers(array, dtype, exact):
    if dtype == "bf16" and exact:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def differing(array, wanted, dtype, exact):
    """Where two outputs differ: a NaN is a NaN, a zero has its sign."""
    assert array.shape == wanted.shape and array.dtype == wanted.dtype, (array.dtype, wanted.dtype)
    a, b = as_numbers(array, dtype, exact), as_numbers(wanted, dtype, exact)
    if dtype not in FLOATS:
        return np.argwhere(a != b)
    return np.argwhere(~((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))


def compare(text, inputs, folder, exact, origin):
    kernel = parse(text)
    outputs = [buffer for buffer in kernel.buffers if not buffer.is_input]
    reference = run_reference(text, inputs, len(outputs), folder, exact)
    for buffer, array, wanted in zip(outputs, reference, evaluate(kernel, inputs, exact), strict=True):
        where = differing(array, wanted, buffer.dtype, exact)
        if len(where):
            at = tuple(where[0])
            a, b = (as_numbers(one, buffer.dtype, exact)[at] for one in (array, wanted))
            pytest.fail(f"{origin}: {buffer.name}[{at}] is {a!r} by the reference, {b!r} by NumPy\n{text}")


def golden_kernels():
    """Every kernel that a golden test reads or expects, once."""
    found = {}
    for path in sorted((ROOT / "tests/golden").rglob("*.ap")):
        if path.name.startswith("bad_"):
            continue
        for text in re.split(r"^(?=autoperfect\.)", path.read_text(), flags=re.MULTILINE)[1:]:
            if text.startswith("autoperfect.kernel "):
                text = text[: text.index("\n}\n") + 3]
                found.setdefault(text, f"{path.parent.name}/{path.stem}")
    return [pytest.param(text, id=f"{name}-{number}") for number, (text, name) in enumerate(found.items())]


def golden_inputs(kernel):
    maker = Maker(0)
    return [maker.array(buffer.dtype, buffer.dims, 3) for buffer in kernel.buffers if buffer.is_input]


@pytest.mark.parametrize("exact", PRECISIONS)
@pytest.mark.parametrize("text", golden_kernels())
def test_golden_kernel(text, exact, tmp_path):
    if "c64" in text:
        pytest.skip("complex numbers have no second meaning here: their golden values are computed by hand, and MLX agrees")
    compare(text, golden_inputs(parse(text)), tmp_path, exact, "golden")


@pytest.mark.parametrize("block", range(20))
def test_random_kernels(block, tmp_path):
    for seed in range(block * SEEDS_A_TEST, (block + 1) * SEEDS_A_TEST):
        text, inputs = random_kernel(seed)
        for exact in (True, False):
            compare(text, inputs, tmp_path, exact, f"seed {seed}, {'exact' if exact else 'oracle'}")


def canonical(text):
    done = subprocess.run([CLI, "print", "--canonical"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


def test_canonical_text_means_the_same_whatever_the_names(tmp_path):
    for seed in range(30):
        text, inputs = random_kernel(seed)
        form = canonical(text)
        assert canonical(form) == form, text
        renamed = re.sub(r"%(\w)(\d+)", lambda name: f"%z{9999 - int(name[2])}{name[1]}", text)
        assert canonical(renamed.replace("@random", "@other")) == form, text
        sizes_given = {dim for buffer in parse(text).buffers if buffer.is_input for dim in buffer.dims}
        if "=?" in text and "i" not in sizes_given:
            continue  # the canonical text has lost the size of an axis that no input has
        outputs = evaluate(parse(text), inputs, True)
        again, buffers = evaluate(parse(form), inputs, True), parse(text).buffers[len(inputs) :]
        for array, wanted, buffer in zip(again, outputs, buffers, strict=True):
            assert not len(differing(array, wanted, buffer.dtype, True)), text


# Every op on every dtype it takes, each with each of these numbers.
FLOAT_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -3.7, 7.0, 1e-3, 60.0, -90.0, 3e4, -6e4, 1e-7, 2.0,
                 np.inf, -np.inf, np.nan]  # fmt: skip


def numbers_of(dtype):
    if dtype in FLOATS:
        numbers = np.array(FLOAT_NUMBERS)
        if dtype == "bf16":
            return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return numbers.astype(f"f{int(dtype[1:]) // 8}")
    if dtype == "bool":
        return np.array([False, True])
    kind = INTEGERS[dtype]
    limits = np.iinfo(kind)
    small = [0, 1, 2, 3, 5, 7, 8, 31, 33, 64, 100] + ([] if limits.min == 0 else [-1, -2, -3, -7, -33])
    return np.array(small + [limits.max, limits.max - 1, limits.min, limits.min + 1], kind)


def ops_for(dtype):
    """Name: (operands, dtype of the result), of what infers for this dtype."""
    of_floats = {name: 1 for name in ON_FLOATS} | {"div": 2, "logaddexp": 2, "atan2": 2}
    of_all = {name: 1 for name in ON_ANY + ON_REALS} | {name: 2 for name in PAIRS}
    bits = {name: 2 for name in BITS} | {"bitwise_invert": 1}
    logical = {"logical_not": 1, "logical_and": 2, "logical_or": 2}
    shifts = {"left_shift": 2, "right_shift": 2}
    more = of_floats if dtype in FLOATS else bits | logical if dtype == "bool" else bits | shifts | {"neg": 1}
    found = {name: (count, dtype) for name, count in (of_all | more).items()}
    found |= {name: (2, "bool") for name in COMPARISONS}
    return found | {f"cast {to}": (1, to) for to in [*FLOATS, *INTEGERS]}


def kernel_of_all_ops(dtype):
    count = len(numbers_of(dtype))
    buffers, lines = [f"in %x: {dtype}[{count}] row"], []
    for number, (op, (operands, result)) in enumerate(ops_for(dtype).items()):
        axes, shape = ("i", f"{count}") if operands == 1 else ("i,j", f"{count},{count}")
        buffers.append(f"out %y{number}: {result}[{shape}] row")
        lines.append(f"%y{number}[{axes}] = {op.split()[0]} {', '.join(['%x[i]', '%x[j]'][:operands])} : {result}")
    return (
        "autoperfect.kernel 1\nkernel @ops {\n  abi {\n    " + "\n    ".join(buffers)
        + f"\n  }}\n  math {{\n    axes i={count}, j={count}\n    " + "\n    ".join(lines)
        + "\n  }\n  numerics {\n    accumulate f32\n  }\n}\n"
    )  # fmt: skip


@pytest.mark.parametrize("exact", PRECISIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_every_op(dtype, exact, tmp_path):
    compare(kernel_of_all_ops(dtype), [numbers_of(dtype)], tmp_path, exact, dtype)


def test_inverse_error_function(tmp_path):
    """Neither side has it from a library, so both are near the true value, but not the same."""
    text = kernel_of_all_ops("f64").splitlines()
    head, buffer = text[:3], "    in %x: f64[9] row\n    out %y: f64[9] row\n  }\n"
    body = "  math {\n    axes i=9\n    %y[i] = erfinv %x[i] : f64\n  }\n  numerics {\n    accumulate f32\n  }\n}\n"
    text = "\n".join(head) + "\n" + buffer + body
    x = np.array([0.0, -0.0, 0.25, -0.5, 0.75, 0.999999, 1.0, -1.0, 1.5])
    (array,), (wanted,) = run_reference(text, [x], 1, tmp_path), evaluate(parse(text), [x], True)
    np.testing.assert_allclose(array, wanted, rtol=4e-16)


def widened(text):
    """The same kernel, allowed to keep halves in f32; None where it has no value of them."""
    math = text[text.index("  math {") : text.index("  numerics {")]
    if not re.search(r": b?f16$", math, flags=re.MULTILINE):
        return None
    return text.replace("  numerics {\n", "  numerics {\n    wide yes\n")


@pytest.mark.parametrize("block", range(4))
def test_wide_kernels(block, tmp_path):
    found = 0
    for seed in range(1000 + block * 40, 1000 + (block + 1) * 40):
        text, inputs = random_kernel(seed)
        if (wide := widened(text)) is None:
            continue
        found += 1
        for exact in (True, False):
            compare(wide, inputs, tmp_path, exact, f"seed {seed}, wide, {'exact' if exact else 'oracle'}")
    assert found > 5


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_every_op_wide(dtype, tmp_path):
    compare(widened(kernel_of_all_ops(dtype)), [numbers_of(dtype)], tmp_path, True, dtype)
