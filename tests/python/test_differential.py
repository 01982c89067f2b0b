"""Random programs run in every way there is (tests/differential), the programs that once failed, and signatures that depend on
nothing but the program."""

import collections
import math
import os
import subprocess
import sys

import mlx.core as mx
import pytest

from autoperfect import _core

from tests.differential import regress
from tests.differential.compare import Disagreement, Spread, agree, bits
from tests.differential.session import Session

FIRST, BATCHES, PROGRAMS = 10, 6, 50
KERNELS = 8  # one program in so many has its kernels compiled


@pytest.mark.parametrize("seed", range(FIRST, FIRST + BATCHES))
def test_random_programs(seed, tmp_path):
    session = Session(seed, KERNELS, tmp_path)
    failure = session.run(PROGRAMS)
    for what, number in sorted(session.count.items()):
        print(f"{number:6} {what}")
    if failure:
        pytest.fail(f"seed {seed}: {failure.error}\n{failure.program}\n{failure.file.read_text()}")
    count = session.count
    run = PROGRAMS - count["not compared, eager: a reduction of no elements"]
    assert count["programs"] == PROGRAMS and run > PROGRAMS // 2
    assert count["leg captured"] == count["leg canonical"] == count["leg plan"] == run
    assert count["leg reference"] > 5 and count["leg kernel"] > 0
    compiled = count["leg program"] + count["leg wide program"]
    assert compiled + count["not compiled: a reduction of no elements"] == math.ceil(PROGRAMS / KERNELS)


@pytest.mark.parametrize("path", sorted(regress.FOLDER.glob("*.ap")), ids=lambda path: path.stem)
def test_once_failed(path):
    mx.disable_compile()
    try:
        regress.run(path, collections.Counter())
    finally:
        mx.enable_compile()


EXTREME = """autoperfect.graph 1
graph @main(%x: f32[3,2]) {
  %m = min %x axes=[1] : f32[3]
  %one = const 1 : f32[]
  %ones = broadcast %one : f32[3]
  %y = div %ones, %m : f32[3]
  return OUTPUT
}
"""


def compare(output, ours):
    text = EXTREME.replace("OUTPUT", output)
    x = mx.array([[0.0, -0.0], [2.0, 3.0], [-0.5, 4.0]])
    graphs = [lambda seed: _core.interpret(text, [x], seed)]
    assert _core.rounding_dependent(text) == [False] and _core.zero_sign_dependent(text) == [True]
    spread = Spread(graphs, _core.rounding_dependent(text), _core.zero_sign_dependent(text))
    agree("test", [mx.array(ours)], _core.interpret(text, [x]), spread, collections.Counter())


def test_of_zeros_an_extreme_may_be_either():
    for zero in (0.0, -0.0):
        compare("%m", [zero, 2.0, -0.5])
    for quotient in (float("inf"), -float("inf")):
        compare("%y", [quotient, 0.5, -2.0])
    # All else is exact still.
    for output, ours in (("%m", [1e-45, 2.0, -0.5]), ("%m", [0.0, 2.0000002, -0.5]), ("%y", [float("inf"), 0.5, -2.0000002])):
        with pytest.raises(Disagreement):
            compare(output, ours)


def test_errors_of_equal_elements_do_not_average_out():
    text = """autoperfect.graph 1
graph @main(%x: f32[4096]) {
  %y = tanh %x : f32[4096]
  %d = sub %x, %y : f32[4096]
  %m = sum %d axes=[0] : f32[]
  return %m
}
"""
    x = mx.full((4096,), 0.0115)
    spread = Spread([lambda seed: _core.interpret(text, [x], seed)], [True], [True])
    ulp = 2.0**-30  # of tanh(0.0115)
    # All may be 4 ulp off to one side. Of independent errors the sum would keep a sixty-fourth.
    spread.widen(6)
    assert 4096 * ulp < spread.largest[0] < 5 * 4096 * ulp


def test_a_nan_is_one_whatever_its_bits():
    def pair(real, imag):
        return mx.view(mx.array([real, imag], mx.uint32), mx.complex64)

    nan, other, zero, minus_zero = 0x7FC00000, 0xFFC00123, 0x00000000, 0x80000000
    assert (bits(pair(nan, zero)) == bits(pair(other, zero))).all()
    assert (bits(pair(zero, other)) == bits(pair(zero, nan))).all()
    for different in (pair(zero, nan), pair(nan, minus_zero), pair(nan, nan), pair(zero, zero)):
        assert (bits(pair(nan, zero)) != bits(different)).all()


SIGNATURES = """
import sys
import mlx.core as mx
from autoperfect import _core
mx.set_default_device(mx.cpu)
order = sys.argv[1]
w = mx.arange(257, dtype=mx.float32) * 0.01
junk = {str(i): mx.array(float(i)) for i in range(int(sys.argv[2]))}

def f(x, y):
    if order == "first":
        a = mx.tanh(x * w)
        b = mx.softmax(y, axis=-1)
    else:
        b = mx.softmax(y, axis=-1)
        a = mx.tanh(x * w)
    return a + b, mx.exp(mx.sort(y)) * 2, mx.tanh(mx.sum(x * x, axis=-1) + 1)

stages = _core.Stages(f, [mx.ones((33, 257)), mx.ones((33, 257))], "raised", 0, False)
print(stages.canonical)
for region in stages.regions:
    print(region["signature"], region["kernel"])
"""


def test_signatures_do_not_depend_on_process_order_or_hash_seed(root):
    def texts(hash_seed, order, junk):
        done = subprocess.run(
            [sys.executable, "-c", SIGNATURES, order, str(junk)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
        )
        return done.stdout

    first = texts("1", "first", 0)
    assert first.count("autoperfect.kernel 1") >= 2, first
    assert texts("2", "first", 17) == first
    assert texts("3", "second", 5) == first
