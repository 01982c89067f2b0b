"""Arguments that are views: they are taken as they lie where that pays, and the answer is the same either way."""

import autoperfect as ap
import mlx.core as mx
import numpy as np
import pytest
from autoperfect import _core

ROWS, COLUMNS = 96, 72


def numbers(*shape):
    return mx.array(np.random.default_rng(3).normal(size=shape).astype(np.float32))


VIEWS = {
    "transposed": lambda: numbers(COLUMNS, ROWS).T,
    "padded rows": lambda: numbers(ROWS, 2 * COLUMNS)[:, 5 : 5 + COLUMNS],
    "every second": lambda: numbers(ROWS, 2 * COLUMNS)[:, ::2],
    "one row": lambda: mx.broadcast_to(numbers(1, COLUMNS), (ROWS, COLUMNS)),
    "one column": lambda: mx.broadcast_to(numbers(ROWS, 1), (ROWS, COLUMNS)),
    "backwards": lambda: numbers(ROWS, COLUMNS)[::-1, ::-1],
    "offset": lambda: numbers(3 * ROWS, COLUMNS)[ROWS : 2 * ROWS],
    "dense": lambda: numbers(ROWS, COLUMNS),
}


def view(name):
    array = VIEWS[name]()
    mx.eval(array)
    return array


def program(x, w):
    y = mx.exp(-mx.abs(x)) * w + x
    return y, mx.softmax(y, axis=-1), mx.sum(y * y, axis=0)


def agree(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.array(a), np.array(b), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", VIEWS)
def test_kernels_read_views_as_they_lie(name):
    x, w = view(name), numbers(COLUMNS)
    stages = _core.Stages(lambda x, w: list(program(x, w)), [x, w], "untimed")
    agree(stages.call(), program(x, w))


def test_one_function_serves_every_layout():
    compiled = ap.compile(program)
    w = numbers(COLUMNS)
    for name in [*VIEWS, *VIEWS]:
        x = view(name)
        agree(compiled(x, w), program(x, w))
        lazy = VIEWS[name]()
        agree(compiled(lazy, w), program(x, w))


def test_many_layouts_do_not_build_without_end():
    compiled = ap.compile(lambda x: mx.exp(x) * 2 + 1)
    wide = numbers(64, 600)
    for step in range(1, 9):
        for start in range(3):
            x = wide[:, start : start + 64 * step : step]
            mx.eval(x)
            agree([compiled(x)], [mx.exp(x) * 2 + 1])


def test_explain_says_how_inputs_lie():
    def turned(x, w):
        return mx.exp(x) * w

    x, w = mx.eval(a := numbers(1024, 1024).T) or a, numbers(1024, 1024)
    text = ap.explain(ap.compile(turned), x, w)
    assert "strided: eager" in text  # it was tried, whatever won


def test_a_view_keeps_what_lies_around_it():
    wide = numbers(ROWS, 2 * COLUMNS)
    before = np.array(wide)
    x = wide[:, :COLUMNS]
    mx.eval(x)
    compiled = ap.compile(lambda x: mx.tanh(x) + 1)
    mx.eval(compiled(x))
    assert np.array_equal(np.array(wide), before)


def test_shapeless_kernels_leave_every_size_open_that_they_can():
    def scaled(x, w):
        return mx.exp(x) * w

    compiled = ap.compile(scaled, shapeless=True)
    signatures = set()
    for rows, columns in ((64, 96), (80, 96), (64, 33), (7, 5)):
        x, w = numbers(rows, columns), numbers(columns)
        agree([compiled(x, w)], [scaled(x, w)])
        text = ap.explain(compiled, x, w)
        signatures |= {line.split()[1] for line in text.splitlines() if line.startswith("  signature:")}
    assert len(signatures) == 1
