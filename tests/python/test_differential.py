"""Random programs run in every way there is (tests/differential), the programs that once failed, and signatures that depend on
nothing but the program."""

import collections
import math
import os
import subprocess
import sys

import mlx.core as mx
import pytest

from tests.differential import regress
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
