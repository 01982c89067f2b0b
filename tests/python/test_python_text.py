"""`autoperfect python` prints MLX code that runs, and gives what the reference executor gives."""

import subprocess
import sys

import mlx.core as mx
import pytest

GOLDEN = ("run/kernel.ap", "run/kernel_forms.ap")


def command(*arguments, text):
    done = subprocess.run(
        [sys.executable, "-m", "autoperfect", *arguments], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def parts_of(path):
    """The --data of each input, the program and the output of a golden test."""
    first, rest = path.read_text().split("\n", 1)
    program, expected = rest.split("; EXPECT\n")
    return first.split('"')[1::2], program, expected


def function_of(source):
    scope = {"mx": mx}
    exec(source, scope)
    return next(value for name, value in scope.items() if callable(value) and name not in ("mx", "__builtins__"))


def arrays_of(function, data):
    """Arrays of the annotated types from comma-separated numbers."""
    dtypes = {"f32": mx.float32, "i32": mx.int32}
    arrays = []
    for annotation, numbers in zip(function.__annotations__.values(), data):
        dtype, shape = annotation.rstrip("]").split("[")
        array = mx.array([float(number) for number in numbers.split(",")], mx.float32)
        arrays.append(array.astype(dtypes[dtype]).reshape([int(size) for size in shape.split(",")]))
    return arrays


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_runs_in_mlx(root, name):
    data, program, expected = parts_of(root / "tests" / "golden" / name)
    function = function_of(command("python", text=program))
    outputs = function(*arrays_of(function, data))
    lines = expected.strip().split("\n")
    assert len(outputs) == len(lines)
    for output, line in zip(outputs, lines):
        stated, values = line.split(" = ")
        assert output.flatten().tolist() == eval(values), line
        assert stated.endswith(f"[{','.join(map(str, output.shape))}]"), line


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_reads_back(root, name):
    _, program, _ = parts_of(root / "tests" / "golden" / name)
    text = command("python", text=program)
    graph = command("python", text=text)
    assert graph.startswith("autoperfect.graph 1\n")
    assert command("python", text=graph) == text


def test_a_mistake_is_shown_in_its_line():
    done = subprocess.run(
        [sys.executable, "-m", "autoperfect", "python"],
        input='def f(x: "f32[4]"):\n    y = mx.exq(x)\n    return y\n', capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "mx.exq: not a function that a graph has" in done.stderr and "y = mx.exq(x)" in done.stderr
