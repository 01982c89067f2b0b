"""Runs every benchmark with small settings, validates what each wrote as JSON, and prints one table.

--bars adds benchmark_bars.py, which takes large arrays and some minutes. The exit status is 1 when any benchmark failed."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import harness
import report

SMALL = {
    "elementwise": ["--sizes", "512x2048"],
    "reduction": ["--sizes", "512x2048"],
    "layernorm": ["--sizes", "512x2048"],
    "softmax": ["--sizes", "512x2048"],
    "fused_vs_eager": ["--sizes", "256x1024"],
    "cache_effects": ["--sizes", "256x1024"],
    "kernelir_vs_generated": ["--sizes", "64x512"],
}


def run(name, arguments, folder):
    """(seconds, document or None, failure, what it printed)."""
    script = pathlib.Path(__file__).parent / f"benchmark_{name}.py"
    output = folder / f"{name}.json"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, script, *arguments, "--json", output], capture_output=True, text=True, timeout=600
    )
    seconds = time.perf_counter() - start
    document = json.loads(output.read_text()) if output.exists() else None
    if done.returncode != 0:
        failure = (done.stdout + done.stderr)[-3000:]
    else:
        failure = "; ".join(report.problems(document)) if document else "it wrote no JSON"
    return seconds, document, failure, done.stdout


def row(name, seconds, document, failure):
    cases = document["cases"] if document else []
    cells = ""
    for contender in ("eager", "mx.compile"):
        ratios = [case["ratios"][contender] for case in cases if contender in case.get("ratios", {})]
        cells += f" {report.geometric_mean(ratios):10.2f}" if ratios else f" {'':>10}"
    right = sum(case["accuracy"]["correct"] for case in cases)
    return f"{name:22} {len(cases):5} {right:5} {cells} {seconds:8.0f} s  {'FAILED' if failure else 'ok'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bars", action="store_true", help="also the bars at (4096, 4096)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FOLDER", help="keep the JSON files there")
    chosen = parser.parse_args()
    plan = {**SMALL, "bars": []} if chosen.bars else SMALL
    print(f"{harness.machine.line(harness.machine.describe())}\n")
    print(f"{'':22} cases right    x eager x mx.compile (geometric means)")
    failures = {}
    with tempfile.TemporaryDirectory(prefix="autoperfect-") as temporary:
        folder = chosen.json or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, arguments in plan.items():
            seconds, document, failure, printed = run(name, arguments, folder)
            print(row(name, seconds, document, failure), flush=True)
            if name == "bars":
                print("".join(f"  {bar}\n" for bar in printed.splitlines() if bar.startswith(("pass", "MISS"))), end="")
            if failure:
                failures[name] = failure
    for name, failure in failures.items():
        print(f"\n--- {name} failed:\n{failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
