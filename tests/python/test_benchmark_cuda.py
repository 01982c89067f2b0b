"""The GPU's benchmark where there is no GPU: how device times and ratios come about, what the report says, and a dry run."""

import json
import os
import subprocess
import sys

import cuda_report
import cuda_rows
import device_time
import mlx.core as mx
import pytest


def row(name, group, size, times, **more):
    """`times`: contender -> (pipelined, alone, device) in seconds."""
    seconds = {
        key: {"pipelined": [p, p, p], "alone": [a, a, a], "device": d, **more.pop(f"{key} cold", {})}
        for key, (p, a, d) in times.items()
    }
    return {"group": group, "name": name, "dtype": "f32", "size": size, "correct": True, "apart": 1.0,
            "bytes": 8e8, "kernels": 1, "seconds": seconds} | more  # fmt: skip


DOCUMENT = {
    "gpu": {"name": "some GPU"}, "copy": 4e12, "versions": "MLX 1", "processor": "cpu", "threads": 2, "calls": 20,
    "rounds": 3, "not_measured": ["late f32 1x1"],
    "rows": [
        row("fast", "large", [8192, 4096], {
            "eager": (8e-4, 9e-4, 7e-4), "mx.compile": (5e-4, 5e-4, 5e-4), "triton": (3e-4, 3e-4, 2.5e-4),
            "ours": (2.5e-4, 3e-4, 2.1e-4)}),
        row("slow", "hot", [], {
            "eager": (2e-4, 2e-4, 2e-4), "mx.compile": (1e-4, 1e-4, 1e-4), "ours": (1.25e-4, 8e-5, 1e-4)}),
    ],
}  # fmt: skip


def test_work_side_by_side_counts_once():
    assert device_time.union([(0, 2), (1, 3), (5, 6), (5.5, 5.7)]) == 4
    assert device_time.union([]) == 0


def test_records_are_told_apart_by_the_marks_between():
    mark = f"void {device_time.MARK}_kernel<float>"
    records = [(9, 10, "late"), (0, 1, "before"), (2, 3, mark), (4, 5, "a"), (5, 7, "b"), (8, 8.5, mark)]
    assert device_time.split(records) == [[(4, 5), (5, 7)], [(9, 10)]]


def test_the_slope_leaves_out_what_an_evaluation_costs_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(device_time.time, "perf_counter", lambda: now[0])

    def job(calls):
        now[0] += 5.0 + 0.25 * calls

    assert device_time.slope(job) == pytest.approx(0.25)


def test_ratios_and_shares():
    fast, slow = DOCUMENT["rows"]
    assert cuda_report.ratio(fast) == pytest.approx(1.2)
    assert cuda_report.ratio(fast, cuda_report.MLX_ONLY) == pytest.approx(2.0)
    assert cuda_report.share(fast, 4e12) == pytest.approx(8e8 / 2.1e-4 / 4e12)
    assert cuda_report.ratio(slow, cuda_report.MLX_ONLY, cuda_report.alone) == pytest.approx(1.25)


def test_a_mean_leaves_out_what_was_not_measured():
    fast = DOCUMENT["rows"][0]
    without = row("new", "large", [8192, 4096], {"eager": (4e-4, 1, 0.0), "ours": (1e-4, 1, 0.0)})
    assert cuda_report.mean_ratio([fast, without], take=cuda_report.cold) == pytest.approx(2.5 / 2.1)
    assert cuda_report.mean_ratio([fast, without]) == pytest.approx((1.2 * 4) ** 0.5)


def test_bars_name_what_misses():
    missed = [text for text, reached in cuda_report.bars(DOCUMENT) if not reached]
    assert missed == [
        "hot functions, pipelined: 0.80 x the better of eager and mx.compile, bar 1.5",
        "hot functions, alone: 1.25 x the better of eager and mx.compile, bar 1.5",
        "slow: 0.80 x the better of eager and mx.compile, bar 1",
    ]


def test_markdown_has_each_row_what_missed_and_what_had_no_time():
    text = cuda_report.markdown(DOCUMENT)
    assert "| fast f32 8192x4096 | 800 / 700 | 500 / 500 |  |  | 300 / 250 | 250 / 210 | 1.20 / 1.19 | 80% / 95% |" in text
    assert "| slow | 200 | 100 | 125 | 0.80 | 200 | 100 | 80 | 1.25 | 1 |" in text
    assert "3 of 6 reached" in text
    assert "for lack of time: late f32 1x1." in text


def test_a_dry_run_writes_what_the_report_reads(root, tmp_path):
    output = tmp_path / "run.json"
    command = [sys.executable, "benchmarks/benchmark_cuda.py", "--dry-run", "--fill", "1", "--rounds", "1", "--json", output]
    command += ["--groups", "small", "softmax", "--dtypes", "f32", "--only", "rms_norm"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=root, timeout=200,
        env={**os.environ, "AUTOPERFECT_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    document = json.loads(output.read_text())
    assert [(r["name"], r["size"], r["correct"]) for r in document["rows"]] == [
        ("rms_norm", [32, 64], True), ("rms_norm", [1, 4096], True),
    ], done.stdout + done.stderr  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(document["rows"][0]["seconds"]) >= {"eager", "mx.compile", "built in", "ours"}
    assert "2 of 2 filled by 1 processes" in done.stdout
    assert "rms_norm f32 32x64" in cuda_report.markdown(document)


def exponential(scale):
    """f32 results of which a value of bfloat16 in between decides."""

    def function(x):
        return mx.exp((x * scale).astype(mx.bfloat16).astype(mx.float32) * 8)

    return function


def judged(ours, function, x):
    row_of = cuda_rows.Row("hot", "exponential", "", (), function, lambda: (x,))
    eager, result = function(x), {}
    assert not cuda_rows.verdict(row_of, ours, eager)[0], "not far from eager: nothing is asked"
    cuda_rows.judge_by_oracle(row_of, (x,), ours, eager, result)
    return result


def test_what_is_far_from_eager_is_judged_by_the_oracle():
    x = mx.random.normal((64, 64), key=mx.random.key(3))
    function = exponential(0.37)
    exact = mx.exp(x * 0.37 * 8)  # without that value: as near the oracle as eager is, and nearer
    right = judged(exact, function, x)
    assert right["correct"] and right["from_oracle"]["ours"] < right["from_oracle"]["eager"], right
    wrong = judged(exact * 1.1, function, x)
    assert not wrong["correct"] and "from the oracle" in wrong["why"], wrong
