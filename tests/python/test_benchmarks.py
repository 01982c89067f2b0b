"""The benchmarks' own rules: a wrong result has no time and fails the script, what is written is complete, and every
script runs."""

import json
import math
import subprocess
import sys

import accuracy
import mlx.core as mx
import numpy as np
import pytest
import report
import timing
from workloads import WORKLOADS

SCRIPTS = {
    "elementwise": ["--sizes", "8x64"],
    "reduction": ["--sizes", "8x64", "--dtype", "f32"],
    "layernorm": ["--sizes", "8x64"],
    "softmax": ["--sizes", "8x64"],
    "kernelir_vs_generated": ["--sizes", "8x64", "--dtype", "f32"],
}


def run_script(root, *arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=root, timeout=300)


def test_distance_counts_units_in_the_last_place():
    one = mx.array([1.0, 1.0, 1.0])
    assert accuracy.distance(one, np.array([1.0, 1.0, 1.0]), mx.float32) == 0
    assert accuracy.distance(one, np.array([1.0, 1.0, 1.0 + 2**-22]), mx.float32) == pytest.approx(2, rel=1e-5)
    half = mx.array([1.0, 1.0078125]).astype(mx.bfloat16)
    assert accuracy.distance(half, np.array([1.0, 1.0]), mx.bfloat16) == pytest.approx(1)


def test_distance_is_infinite_for_other_shapes_and_misplaced_nan():
    x = mx.array([1.0, math.nan, math.inf])
    assert accuracy.distance(x, np.array([1.0, math.nan, math.inf]), mx.float32) == 0
    assert accuracy.distance(x, np.array([1.0, 2.0, math.inf]), mx.float32) == math.inf
    assert accuracy.distance(x, np.array([1.0, math.nan, -math.inf]), mx.float32) == math.inf
    assert accuracy.distance(x, np.array([1.0, math.nan]), mx.float32) == math.inf
    assert accuracy.distance(mx.array([1, 2]), np.array([1, 3]), mx.int32) == math.inf


def test_judge_accepts_as_exact_as_eager_and_rejects_worse():
    oracle = np.linspace(1, 2, 64)
    eager = mx.array(oracle.astype(np.float32))
    assert accuracy.judge(eager, eager, oracle).correct
    wrong = accuracy.judge(eager * (1 + 1e-5), eager, oracle)
    assert not wrong.correct and "oracle" in wrong.failure
    assert not accuracy.judge(eager * 1.001, eager).correct


def test_interleave_times_every_contender_in_rotation():
    calls = []

    def contender(name):
        return lambda x: calls.append(name) or x + 1

    times = timing.interleave({"a": contender("a"), "b": contender("b")}, [mx.ones(4)], warmup=1, iterations=3)
    assert set(times) == {"a", "b"}
    assert all(t.iterations == 3 and 0 < t.low <= t.median <= t.high for t in times.values())
    assert calls.count("a") >= 5 and calls.count("b") >= 5


def test_wrong_result_has_no_time_and_the_script_fails(root, tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text(
        "import sys; sys.path.insert(0, 'benchmarks')\n"
        "import harness, product\n"
        "from workloads import WORKLOADS\n"
        "product.compile = lambda f: lambda *a: f(*a) * 1.01\n"
        "chosen = harness.options('', sizes=['4x64'])\n"
        "harness.finish(harness.run('wrong', [WORKLOADS['softmax']], chosen))\n"
    )
    done = run_script(root, script, "--json", tmp_path / "wrong.json")
    assert done.returncode == 1
    assert "WRONG" in done.stdout and "wrong results, not timed: softmax 4x64 f32" in done.stderr
    (case,) = json.loads((tmp_path / "wrong.json").read_text())["cases"]
    assert not case["accuracy"]["correct"] and case["times"] == {}


def test_problems_names_what_a_document_lacks():
    complete = {"name": "x", "size": [1, 2], "dtype": "f32", "accuracy": {"correct": True}, "times": {"a": 1}}
    document = {"benchmark": "b", "machine": {"mlx": "0"}, "settings": {"warmup": 1}, "cases": [complete]}
    assert report.problems(document) == []
    assert report.problems({**document, "cases": []}) == ["no cases"]
    assert report.problems({**document, "cases": [{**complete, "times": {}}]})
    assert report.problems({**document, "cases": [{"name": "x"}]})


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_and_writes_a_complete_document(root, tmp_path, name):
    output = tmp_path / "out.json"
    arguments = [*SCRIPTS[name], "--iterations", "2", "--json", output]
    done = run_script(root, root / "benchmarks" / f"benchmark_{name}.py", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert report.problems(json.loads(output.read_text())) == []
    assert "copy limit" in done.stdout and "MLX" in done.stdout


def test_cache_effects_script_runs_no_compiler_when_warm(root, tmp_path):
    output = tmp_path / "out.json"
    done = run_script(root, root / "benchmarks" / "benchmark_cache_effects.py", "--sizes", "64x256", "--json", output)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads(output.read_text())["cases"]
    assert all(case["times"]["warm"]["compiler runs"] == 0 for case in cases)
    assert sum(case["times"]["cold"]["compiler runs"] for case in cases) > 0


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=["f32", "bf16"])
def test_workload_gives_the_same_numbers_for_the_same_seed(name, dtype):
    workload = WORKLOADS[name]
    first, second = (workload.function(*workload.make_args((5, 64), dtype)) for _ in range(2))
    for a, b in zip(accuracy.leaves(first), accuracy.leaves(second), strict=True):
        assert mx.array_equal(a, b, equal_nan=True).item()
        assert not mx.isnan(a.astype(mx.float32)).any().item()
