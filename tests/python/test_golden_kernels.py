"""Every kernel of the golden tests as MLX runs it: by the operations of raise(), and by the Python text of those, which
reads back as it was. Both give what the reference executor gives. Those that are run as golden tests are also compiled
from the built-in schedules, and pass the gate."""

import collections
import re
import subprocess

import mlx.core as mx
import numpy as np
import pytest
from autoperfect import _core
from numpy_kernel import parse
from random_kernels import Maker
from reference_executor import CLI
from test_numpy_kernel import golden_kernels

from tests.differential.compare import Spread, agree

SEEDS = 3
# No built-in schedule takes them, for the reason given.
WITHOUT_SCHEDULE = {
    "kernel_forms": "a contraction, a scan and gathers in one kernel",
    "kernel_complex": "there are no vectors of complex numbers",
    "scan_of_halves": "the largest of halves so far, which in MLX loses a NaN",
}


def few_rows(text):
    """The kernel at a small size of its dynamic axis."""
    return re.sub(r"=\?\d*", "=?3", text)


def given(array, dtype):
    array = mx.array(array)
    return mx.view(array, mx.bfloat16) if dtype == "bf16" else array


def inputs_of(kernel, seed):
    maker = Maker(seed)
    buffers = [buffer for buffer in kernel.buffers if buffer.is_input]
    return [given(np.asarray(maker.array(b.dtype, b.dims, 3)), b.dtype) for b in buffers]


def command(*arguments, text):
    done = subprocess.run([CLI, *arguments], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout + text
    return done.stdout


def function_of(source):
    scope = {"mx": mx}
    exec(source, scope)
    return next(value for name, value in scope.items() if callable(value) and name not in ("mx", "__builtins__"))


def listed(outputs):
    outputs = [outputs] if isinstance(outputs, mx.array) else list(outputs)
    mx.eval(outputs)
    return outputs


@pytest.mark.parametrize("text", golden_kernels())
def test_mlx_gives_what_the_reference_gives(text):
    text = few_rows(text)
    wide = "    wide yes\n" in text  # MLX itself rounds
    raised = _core.raise_kernel(text)
    source = command("python", text=text)
    read_back = command("python", text=source)
    again = command("python", text=read_back)
    assert command("python", text=command("python", text=again)) == again
    assert again == source or "mx.isnan" in source  # a call that becomes two nodes
    function = function_of(source)
    for seed in range(SEEDS):
        inputs = inputs_of(parse(text), seed)
        exact = _core.run_kernel(text.replace("    wide yes\n", "") if wide else text, inputs, "exact")
        open_to = _core.rounding_dependent(raised), _core.zero_sign_dependent(raised)
        spread = Spread([lambda seed: _core.interpret(raised, inputs, seed)], *open_to)
        ways = {
            f"raised\n{text}": listed(_core.interpret(raised, inputs)),
            f"as Python\n{source}": listed(function(*inputs)),
            f"read back\n{read_back}": listed(_core.interpret(read_back, inputs)),
        }
        for way, outputs in ways.items():
            agree(f"seed {seed}, {way}", outputs, exact, spread, collections.Counter())


@pytest.mark.parametrize("text", [p for p in golden_kernels() if p.id.startswith("run/")])
def test_schedules_pass_the_gate(text, request):
    name = re.search(r"run/(\w+)-", request.node.callspec.id)[1]
    done = subprocess.run([CLI, "gate", "--seed", "7"], input=text, capture_output=True, text=True, timeout=300)
    if name in WITHOUT_SCHEDULE:
        assert "no-schedule" in done.stderr, f"{name} has a schedule now"
        pytest.skip(f"no schedule: {WITHOUT_SCHEDULE[name]}")
    assert done.returncode == 0 and "admitted" in done.stdout, done.stdout + done.stderr


def test_mistakes_are_named_in_their_lines():
    text = (
        'import mlx.core as mx\ndef f(x: "f32[4,8]"):\n'
        "    a = mx.fast.rms_norm(x)\n    b = mx.sum(x, axes=1)\n    c = mx.compile(x)\n    d = x + x\n"
        "    e = mx.pad(x, [(1, 0)], constant_values=0)\n    g = mx.take(x, 3, axis=5)\n    return x\n"
    )
    done = subprocess.run([CLI, "python"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    for message in (
        "mx.fast.rms_norm: not a function that a graph has", "mx.sum: it has no argument 'axes' here",
        "mx.compile: not a function that a graph has", "found '+'",
        "mx.pad: each axis has a pair of widths, (before, after)", "mx.take: argument 2 is an array",
    ):  # fmt: skip
        assert message in done.stderr, done.stderr
    assert done.stderr.count("error[") == 6, done.stderr


def test_a_graph_without_text_says_which_op():
    graph = "autoperfect.graph 1\ngraph @f(%x: f32[4,4]) {\n  %q, %r = qr %x : f32[4,4], f32[4,4]\n  return %q, %r\n}\n"
    done = subprocess.run([CLI, "python"], input=graph, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "'qr' has no text as one call of mlx.core" in done.stderr, done.stderr
