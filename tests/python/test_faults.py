"""Faults around a compiled program: the result stays right, one warning at most, nothing hangs. Each in processes of its
own."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import mlx.core as mx
mx.set_default_device(mx.cpu)
import autoperfect as ap

def rms(x, w):
    return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w

x = mx.random.normal((512, 300), key=mx.random.key(1))
w = mx.linspace(0.5, 1.5, 300)
fast = ap.compile(rms)
for _ in range(2):
    y = fast(x, w)
assert mx.allclose(y, rms(x, w), rtol=1e-4, atol=1e-5).item()
rows = fast.outcomes()
print(len(rows), all(row["use_mlx"] for row in rows), all(row["from_cache"] for row in rows))
"""
KERNEL_NEW, KERNEL_CACHED, MLX = "1 False False", "1 False True", "1 True False"
SECONDS = 120


def environment(cache, **changes):
    made = {**os.environ, "AUTOPERFECT_CACHE_DIR": str(cache), **changes}
    made.pop("CXX", None) if "CXX" not in changes else None
    return made


def start(cache, **changes):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment(cache, **changes), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)


def run(cache, **changes):
    """(what became of the region, warnings)"""
    process = start(cache, **changes)
    output, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    return output.strip(), [line for line in errors.splitlines() if "warning" in line]


def entries(cache):
    return sorted(pathlib.Path(cache).glob("*.entry"))


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_second_process_takes_the_kernel_from_the_cache(cache):
    assert run(cache) == (KERNEL_NEW, [])
    assert run(cache) == (KERNEL_CACHED, [])


def test_no_compiler_means_plain_mlx_and_one_warning(cache):
    outcome, warnings = run(cache, PATH="/nonexistent")
    assert outcome == MLX
    assert len(warnings) == 1 and "compiler" in warnings[0]
    assert entries(cache) == []


@pytest.mark.parametrize("body", ["exit 1\n", "echo nonsense\n", "kill -9 $$\n", "yes error | head -c 100000000 >&2; exit 1\n"])
def test_broken_compiler_means_plain_mlx(cache, tmp_path, body):
    outcome, warnings = run(cache, CXX=script(tmp_path / "broken", body))
    assert outcome == MLX
    assert len(warnings) <= 1


def test_warm_start_runs_no_compiler(cache, tmp_path):
    stop = tmp_path / "stop"
    compiler = script(tmp_path / "stoppable", f'[ -e {stop} ] && exec sleep 1000\nexec g++ "$@"\n')
    assert run(cache, CXX=compiler)[0] == KERNEL_NEW
    stop.touch()
    assert run(cache, CXX=compiler)[0] == KERNEL_CACHED  # a compiler that is run now hangs


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "fifo", "directory"])
def test_damaged_entry_is_a_miss(cache, damage):
    run(cache)
    assert entries(cache)
    for entry in entries(cache):
        bytes_ = bytearray(entry.read_bytes())
        entry.unlink()
        if damage == "flip":
            bytes_[len(bytes_) // 2] ^= 0x40
        if damage in ("flip", "empty"):
            entry.write_bytes(bytes_ if damage == "flip" else b"")
        elif damage == "truncate":
            entry.write_bytes(bytes_[:-7])
        elif damage == "fifo":
            os.mkfifo(entry)
        else:
            entry.mkdir()
    outcome, warnings = run(cache)
    assert outcome == KERNEL_NEW
    assert len(warnings) <= 1


def test_cache_that_others_may_write_is_not_used(cache):
    cache.chmod(0o777)
    outcome, warnings = run(cache)
    assert outcome == KERNEL_NEW
    assert len(warnings) == 1
    assert entries(cache) == []


def test_cache_off_writes_nothing(cache):
    assert run(cache, AUTOPERFECT_CACHE="off")[0] == KERNEL_NEW
    assert list(cache.iterdir()) == []


def test_cold_processes_on_one_key(cache):
    processes = [start(cache) for _ in range(4)]
    for process in processes:
        output, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors
        assert output.strip() in (KERNEL_NEW, KERNEL_CACHED)
    assert run(cache) == (KERNEL_CACHED, [])
