"""Every op of a program is traced back to the line that made it."""

import sys

import autoperfect as ap
import mlx.core as mx
import mlx.nn as nn
from autoperfect.sources import Recorder


def line_of(function, offset):
    return f":{function.__code__.co_firstlineno + offset} in {function.__name__}"


def recorded(function, *arguments):
    recorder = Recorder()
    recorder.start()
    try:
        function(*arguments)
    finally:
        recorder.stop()
    return [text for _, text in recorder.found]


def test_an_array_has_the_line_that_first_held_it():
    def program(x):
        y = mx.exp(x)
        pair = [y + 1, {"b": y * 2}]
        return pair[0] * pair[1]["b"]

    lines = [text for text in recorded(program, mx.ones(3)) if "program" in text]
    # The argument is first seen after the first line.
    expected = [line_of(program, n) for n in (1, 1, 2, 2, 3)]
    assert [text[text.rindex(":") :] for text in lines] == expected


def test_a_module_of_mlx_has_the_line_that_called_it():
    layer = nn.RMSNorm(8)

    def program(x):
        x = x * 2
        return layer(x)

    lines = recorded(program, mx.ones((2, 8)))
    assert lines[-1].endswith(line_of(program, 2))
    assert not any("normalization.py" in line for line in lines)


def test_a_debugger_keeps_its_place():
    def watch(frame, event, argument):
        return None

    recorder = Recorder()
    sys.settrace(watch)
    try:
        recorder.start()
        assert sys.gettrace() is watch
        recorder.stop()
        assert sys.gettrace() is watch
    finally:
        sys.settrace(None)
    assert recorder.found == []


def test_an_error_of_the_function_leaves_no_watch_behind():
    def program(x):
        raise KeyError("mine")

    try:
        ap.compile(program)(mx.ones(3))
    except KeyError as error:
        assert error.args == ("mine",)
    assert sys.gettrace() is None


def test_explain_names_the_lines():
    def program(x):
        y = mx.exp(x - mx.max(x, axis=-1, keepdims=True))
        z = mx.sort(y, axis=-1)
        return z / mx.sum(z, axis=-1, keepdims=True)

    text = ap.explain(program, mx.random.normal((64, 96)))
    regions, rest = text.split("region 0")[1].split("not fused:", 1)
    assert line_of(program, 1) in regions and line_of(program, 3) in regions
    # The values of its kernel that are made there.
    made = [line for line in regions.splitlines() if line.startswith("  from ") and line_of(program, 1) in line]
    assert len(made) == 1 and made[0].count(" %") >= 2
    sort = next(line for line in rest.splitlines() if "= sort" in line)
    assert line_of(program, 1) in sort and line_of(program, 2) in sort


def test_lines_stay_out_of_the_graph_text():
    def program(x):
        return mx.exp(x) + 1

    text = ap.explain(program, mx.ones((4, 4)))
    graph = text[: text.index("return")]
    assert "program" not in graph and ".py" not in graph
