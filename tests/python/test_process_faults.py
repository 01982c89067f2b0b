"""Processes around a compiled program that are missing, die or fork: the result stays right, one warning at most."""

import os
import pathlib
import shutil
import subprocess
import sys

import autoperfect
import pytest

from test_faults import KERNEL_NEW, MLX, SECONDS, cache, environment, run, script  # noqa: F401

FUNCTIONS = """
import os, sys, threading
import autoperfect as ap
import mlx.core as mx
mx.set_default_device(mx.cpu)

def rms(x, w):
    return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w

def check(fast, size):
    x = mx.random.normal((512, size), key=mx.random.key(size))
    w = mx.linspace(0.5, 1.5, size)
    assert mx.allclose(fast(x, w), rms(x, w), rtol=1e-4, atol=1e-5).item()
"""
FORK_BEFORE = FUNCTIONS + """
child = os.fork()
fast = ap.compile(rms)
check(fast, 300)
if child == 0:
    sys.stdout.flush()
    os._exit(0)
print(os.waitpid(child, 0)[1], all(row["use_mlx"] for row in fast.outcomes()))
"""
FORK_AFTER = FUNCTIONS + """
fast = ap.compile(rms)
check(fast, 300)
child = os.fork()
if child == 0:
    os._exit(7)
check(fast, 300)
check(fast, 301)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), all(row["use_mlx"] for row in fast.outcomes()))
"""
THREADS = FUNCTIONS + """
wrong = []
def work(size):
    try:
        with mx.stream(mx.new_stream(mx.cpu)):
            check(ap.compile(rms), size)
    except BaseException as error:
        wrong.append(repr(error))
threads = [threading.Thread(target=work, args=(300 + i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong, flush=True)
os._exit(0)  # MLX's own threads may abort at exit where several threads of the user had streams
"""


def output_of(program, cache, **changes):
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(cache, **changes), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fork_before_the_first_compilation(cache):
    assert output_of(FORK_BEFORE, cache) == "0 False"


def test_fork_after_compilation_leaves_the_parent_as_it_was(cache):
    assert output_of(FORK_AFTER, cache) == "7 False"


def test_threads_compile_at_once(cache):
    assert output_of(THREADS, cache) == "[]"


def test_compiler_at_an_odd_place(cache, tmp_path):
    place = tmp_path / "a 'compiler' $(exit 1) é"
    place.mkdir()
    assert run(cache, CXX=script(place / "g++", 'exec g++ "$@"\n')) == (KERNEL_NEW, [])


@pytest.fixture
def package(tmp_path):
    """A copy of the installed package, whose helper program a test replaces."""
    source = pathlib.Path(autoperfect.__file__).parent
    shutil.copytree(source, tmp_path / "copy" / "autoperfect", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy" / "autoperfect"


def using(package):
    """Its library too, not the one a build tree names."""
    return {"PYTHONPATH": str(package.parent), "LD_LIBRARY_PATH": str(package)}


@pytest.mark.parametrize("helper", [None, "exit 1\n", "exit 0\n", "kill -9 $$\n", "yes | head -c 100000000\n"])
def test_broken_helper_means_plain_mlx_and_one_warning_at_most(cache, package, helper):
    worker = package / "autoperfect-worker"
    worker.unlink()
    if helper is not None:
        script(worker, helper)
    outcome, warnings = run(cache, **using(package))
    assert outcome == MLX
    assert len(warnings) <= 1


def test_helper_that_dies_on_every_candidate(cache, package):
    """Compiles, but proves nothing."""
    worker = package / "autoperfect-worker"
    worker.rename(package / "real-worker")
    script(worker, f'[ "$1" = compile ] || kill -9 $$\nshift 2\nexec "{package}/real-worker" compile $$ "$@"\n')
    outcome, warnings = run(cache, **using(package))
    assert outcome == MLX
    assert len(warnings) <= 1
