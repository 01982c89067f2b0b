"""Plans seen from outside: programs of real size are planned, graphs of 10,000 ops grow linearly, the rank correlation of
the cost benchmark is right, and large arrays give right answers."""

import json
import math
import subprocess
import sys

import benchmark_cost
import graph_forms
import mlx.core as mx
import product
import pytest
from workloads.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_planned_and_runs_as_mlx_does(name):
    program = PROGRAMS[name]
    arguments = program.make_args()
    run = product.plan(program.function, arguments, kernels=False)
    figures = run.figures
    assert list(figures["seconds"]) == ["capture", "canonicalize", "attention", "fuse", "lower", "link"]
    assert figures["canonical_ops"] > 0 and run.predicted_seconds > 0
    assert all(cost["bound"] in ("launch", "memory", "compute") for cost in run.region_costs)


@pytest.mark.parametrize("form", graph_forms.FORMS)
def test_a_large_graph_is_planned_whole(form):
    """How long that takes is for `./dev bench compile-time`."""
    function, arguments = graph_forms.FORMS[form](10_000)
    mx.eval(arguments)
    figures = product.plan_only(function, arguments)
    assert figures["captured_ops"] >= 9_900 and 0 < figures["canonical_ops"] <= figures["captured_ops"]
    assert figures["regions"] > 0


def test_live_bytes_of_a_plan_leave_out_what_never_exists():
    x = mx.ones((256, 1024))
    run = product.plan(lambda x: mx.exp(mx.abs(x) + 1) * 2, [x], kernels=False)
    unfused, planned = run.live_bytes
    assert 2 * x.nbytes <= planned < 2 * x.nbytes + 64  # the argument, the result, scalars
    assert unfused >= 3 * x.nbytes


def test_ranks_tie_what_is_closer_than_the_spreads():
    assert benchmark_cost.ranks([3.0, 1.0, 2.0], [0.0, 0.0, 0.0]) == [3, 1, 2]
    assert benchmark_cost.ranks([1.0, 1.05, 2.0], [0.05, 0.05, 0.0]) == [1.5, 1.5, 3]


def test_correlation_of_orders():
    assert benchmark_cost.correlation([1, 2, 3], [1, 2, 3]) == 1
    assert benchmark_cost.correlation([1, 2, 3], [3, 2, 1]) == -1
    assert benchmark_cost.correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert math.isnan(benchmark_cost.correlation([2, 2, 2], [1, 2, 3]))


def run_benchmark(root, name, *arguments):
    script = root / "benchmarks" / f"benchmark_{name}.py"
    return subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def test_cost_benchmark_compares_alternatives(root, tmp_path):
    output = tmp_path / "out.json"
    done = run_benchmark(root, "cost", "--only", "shifted_rms_norm", "--iterations", "2", "--json", output)
    assert "rank correlation" in done.stdout, done.stdout + done.stderr
    (case,) = json.loads(output.read_text())["cases"]
    assert [row["alternative"] for row in case["alternatives"]][:2] == ["mlx", "plan"]
    assert all(row["predicted"] > 0 and row["measured"] > 0 for row in case["alternatives"])


def test_compile_time_benchmark_reports_every_stage(root, tmp_path):
    output = tmp_path / "out.json"
    done = run_benchmark(root, "compile_time", "--sizes", 50, 200, "--forms", "chain", "--json", output)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads(output.read_text())["cases"]
    assert [case["wanted_ops"] for case in cases] == [50, 200]
    assert cases[1]["exponent"] is not None and "fuse" in cases[0]["seconds"]


def test_large_arrays_give_right_answers(root):
    """32 MiB an array, which is beyond the caches; ./dev bench large goes to 1 GiB."""
    done = run_benchmark(root, "large", "--mib", 32, "--iterations", 1, "--only", "residual", "layer_norm")
    assert done.stdout.count("right") == 2 and "WRONG" not in done.stdout, done.stdout + done.stderr
