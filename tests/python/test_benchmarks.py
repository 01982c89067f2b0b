"""The benchmarks' own rules: a wrong result has no time and fails the script, what is written is complete, and every
script runs, and so does the demo."""

import json
import math
import os
import subprocess
import sys

import accuracy
import compiler_runs
import correctness
import mlx.core as mx
import numpy as np
import product
import pytest
import report
import timing
from workloads import WORKLOADS

SCRIPTS = {
    "elementwise": ["--only", "add", "swiglu"],
    "reduction": ["--only", "mean_var"],
    "layernorm": ["--only", "layer_norm"],
    "softmax": ["--only", "softmax"],
    "fused_vs_eager": ["--only", "mean_var", "softmax", "swiglu"],
    "kernelir_vs_generated": ["--only", "layer_norm", "softmax", "swiglu"],
}


def run_script(root, *arguments, **variables):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=300,
        env={**os.environ, **variables},
    )


# --- accuracy --------------------------------------------------------------------------------------------------------


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
    assert accuracy.distance(mx.ones((2, 3)), np.ones((3, 2)), mx.float32) == math.inf
    assert accuracy.distance(mx.array([1, 2]), np.array([1, 3]), mx.int32) == math.inf


def test_judge_accepts_as_exact_as_eager_and_rejects_worse():
    oracle = np.linspace(1, 2, 64)
    eager = mx.array(oracle.astype(np.float32))
    assert accuracy.judge(eager, eager, [oracle]).correct
    wrong = accuracy.judge(eager * (1 + 1e-5), eager, [oracle])
    assert not wrong.correct and "oracle" in wrong.failure
    assert not accuracy.judge(eager * 1.001, eager).correct


def test_judge_does_not_take_an_oracle_of_another_function():
    oracle = np.linspace(1, 2, 64)
    eager = mx.array(oracle.astype(np.float32))
    verdict = accuracy.judge(eager, eager, [oracle * 1.1])
    assert not verdict.correct and "apart" in verdict.failure


# --- correctness -----------------------------------------------------------------------------------------------------


def verdict_of(name, change=lambda result: result):
    workload, size = WORKLOADS[name], (64, 96)
    arguments = workload.make_args(size, mx.float32)
    return correctness.check(workload, size, mx.float32, arguments, change(workload.function(*arguments)))


def add_to_row(row, amount):
    def change(result):
        result[row] += amount
        return result

    return change


@pytest.fixture
def eight_rows(monkeypatch):
    """All arrays count as large; the oracle takes eight rows of 96."""
    monkeypatch.setattr(correctness, "WHOLE_ELEMENTS", 0)
    monkeypatch.setattr(correctness, "PART_ELEMENTS", 8 * 96)


def test_whole_results_are_compared_with_the_oracle():
    right = verdict_of("silu")
    assert right.correct and right.against_oracle == right.eager_against_oracle > 0
    assert not verdict_of("silu", add_to_row(3, 1e-4)).correct


def test_last_rows_of_large_results_are_compared_with_the_oracle(eight_rows):
    right = verdict_of("silu")
    assert right.correct and right.against_oracle > 0
    assert "oracle" in verdict_of("silu", add_to_row(60, 1e-4)).failure
    assert "eager" in verdict_of("silu", add_to_row(3, 1.0)).failure


def test_rows_that_depend_on_each_other_are_compared_whole(eight_rows):
    right = verdict_of("column_sum")
    assert right.correct and right.against_oracle == right.eager_against_oracle
    assert "oracle" in verdict_of("column_sum", lambda result: result * 1.0001).failure


def test_oracle_is_none_for_what_the_reference_does_not_know():
    workload = WORKLOADS["moe_gate"]
    assert product.oracle(workload.function, workload.make_args((4, 32))) is None


# --- the harness -----------------------------------------------------------------------------------------------------


def test_interleave_times_every_contender_in_rotation():
    calls = []

    def contender(name):
        return lambda x: calls.append(name) or x + 1

    times = timing.interleave({"a": contender("a"), "b": contender("b")}, [mx.ones(4)], warmup=1, iterations=3)
    assert set(times) == {"a", "b"}
    assert all(t.iterations == 3 and 0 < t.low <= t.median <= t.high for t in times.values())
    assert calls.count("a") >= 4 and calls.count("b") >= 4


@pytest.mark.parametrize("wrong", ["f(*a) * 1.00001", "f(*a)[..., ::-1]", "f(*a) * math.nan"])
def test_wrong_result_has_no_time_and_the_script_fails(root, tmp_path, wrong):
    script = tmp_path / "wrong.py"
    script.write_text(
        "import math, sys; sys.path.insert(0, 'benchmarks')\n"
        "import harness, product\n"
        f"product.compile = lambda f: lambda *a: {wrong}\n"
        "chosen = harness.options('', sizes=['4x64'])\n"
        "harness.finish(harness.run('wrong', harness.selected(['softmax'], chosen), chosen))\n"
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


def test_every_region_has_its_kernel_text():
    workload = WORKLOADS["group_norm"]
    arguments = workload.make_args((8, 64))
    fast = product.compile(workload.function)
    mx.eval(fast(*arguments))
    texts = product.kernel_texts(fast)
    assert len(texts) == len(product.outcomes(fast)) == len(product.fused(fast)) > 0
    assert all(text.startswith("autoperfect.kernel 1\n") and text.endswith("\n}") for text in texts)


# --- the scripts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_and_writes_a_complete_document(root, tmp_path, name):
    output = tmp_path / "out.json"
    arguments = [*SCRIPTS[name], "--sizes", "8x64", "--dtype", "f32", "--iterations", "2", "--json", output]
    done = run_script(root, root / "benchmarks" / f"benchmark_{name}.py", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(output.read_text())
    assert report.problems(document) == []
    assert sorted(case["name"] for case in document["cases"]) == sorted(SCRIPTS[name][1:])
    assert all(case["accuracy"]["against_oracle"] is not None for case in document["cases"])
    assert "copy limit" in done.stdout and "MLX" in done.stdout


def test_cache_effects_script_runs_no_compiler_when_warm(root, tmp_path):
    output = tmp_path / "out.json"
    script = root / "benchmarks" / "benchmark_cache_effects.py"
    done = run_script(root, script, "--only", "softmax", "--sizes", "8x64", "--json", output)
    assert done.returncode == 0, done.stdout + done.stderr
    (case,) = json.loads(output.read_text())["cases"]
    assert case["times"]["cold"]["compiler runs"] > 0
    assert case["times"]["warm"]["compiler runs"] == 0


def test_demo_runs_no_compiler_the_second_time(root, tmp_path):
    wrapper = compiler_runs.write_wrapper(tmp_path)
    variables = {"CXX": str(wrapper), "AUTOPERFECT_CACHE_DIR": str(tmp_path / "cache")}
    cold = run_script(root, root / "scripts" / "demo.py", "transformer", **variables)
    assert cold.returncode == 0, cold.stdout + cold.stderr
    assert "1 of 1 programs right" in cold.stdout and "0 decisions from the cache" in cold.stdout
    runs = compiler_runs.count(wrapper)
    assert runs > 0
    warm = run_script(root, root / "scripts" / "demo.py", "transformer", **variables)
    assert warm.returncode == 0, warm.stdout + warm.stderr
    assert "(new)" not in warm.stdout and warm.stdout.count(", 0 new.") == 1
    assert compiler_runs.count(wrapper) == runs


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=["f32", "bf16"])
def test_workload_gives_the_same_numbers_for_the_same_seed(name, dtype):
    workload = WORKLOADS[name]
    first, second = (workload.function(*workload.make_args((5, 64), dtype)) for _ in range(2))
    for a, b in zip(accuracy.leaves(first), accuracy.leaves(second), strict=True):
        assert mx.array_equal(a, b, equal_nan=True).item()
        assert not mx.isnan(a.astype(mx.float32)).any().item()
