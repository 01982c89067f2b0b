"""The shared part of all benchmarks: options, correctness first, then timing; the report is in report.py.

A case whose result is wrong has no time, and the script exits with status 1.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import accuracy  # noqa: E402
import correctness  # noqa: E402
import machine  # noqa: E402
import mlx.core as mx  # noqa: E402
import product  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}


def parse_size(text):
    rows, _, columns = text.partition("x")
    return int(rows), int(columns)


def options(description, sizes=("1024x4096",), dtypes=("f32",), iterations=7, arguments=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--sizes", nargs="+", type=parse_size, default=[parse_size(s) for s in sizes], metavar="RxC")
    parser.add_argument("--dtype", nargs="+", choices=list(DTYPES), default=list(dtypes))
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="of the programs of this benchmark, these")
    parser.add_argument("--iterations", type=int, default=iterations, help="timed rounds (default %(default)s)")
    parser.add_argument("--warmup", type=int, default=2, help="untimed calls first (default %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="write a chart of the ratios (needs matplotlib)")
    chosen = parser.parse_args(arguments)
    mx.set_default_device(mx.gpu if chosen.device == "gpu" else mx.cpu)
    return chosen


def selected(names, chosen):
    """The workloads of a benchmark, less what --only leaves out."""
    unknown = set(chosen.only or ()) - set(names)
    if unknown:
        sys.exit(f"--only: {', '.join(sorted(unknown))}: not among {', '.join(names)}")
    return [WORKLOADS[name] for name in names if not chosen.only or name in chosen.only]


def contenders(workload, fast):
    chosen = {"eager": workload.function, "mx.compile": mx.compile(workload.function)}
    if workload.built_in:
        chosen["built-in"] = workload.built_in
    return {**chosen, "autoperfect": fast}


def bytes_moved(workload, arguments):
    """What a perfect program moves: every argument read once, every result written once."""
    return sum(leaf.nbytes for leaf in accuracy.leaves(arguments) + accuracy.leaves(workload.function(*arguments)))


def note(fast):
    """Why MLX stays, when it does in every region."""
    rows = product.outcomes(fast)
    if not rows:
        return "nothing to fuse: plain MLX"
    return "" if any(not row.use_mlx for row in rows) else f"plain MLX: {rows[0].short_reason}"


def measure(workload, size, dtype_name, chosen):
    dtype = DTYPES[dtype_name]
    fast = product.compile(workload.function)
    arguments = workload.make_args(size, dtype)
    verdict = correctness.check(workload, size, dtype, arguments, fast(*arguments))
    result = report.Result(workload.name, size, dtype_name, verdict)
    if not verdict.correct:
        return result
    result.times = timing.interleave(contenders(workload, fast), arguments, chosen.warmup, chosen.iterations)
    result.bytes_moved = bytes_moved(workload, arguments)
    result.share = result.bytes_moved / result.times["autoperfect"].median / product.copy_limit()
    result.note = note(fast)
    return result


def run(title, workloads, chosen):
    """Measures and prints every workload in every size and dtype. Returns the results; finish() ends the script."""
    about = machine.describe()
    print(f"{title}\n{machine.line(about)}\n{chosen.warmup} calls warm-up, {chosen.iterations} interleaved rounds\n")
    print(report.HEAD)
    results = []
    for workload in workloads:
        for size in chosen.sizes:
            for dtype in chosen.dtype:
                results.append(measure(workload, size, dtype, chosen))
                print(report.row(results[-1]), flush=True)
    print(report.LEGEND)
    report.write(title, about, results, chosen)
    return results


def finish(results):
    """Ends the script: status 1 when any result was wrong."""
    wrong = [f"{r.name} {r.size[0]}x{r.size[1]} {r.dtype}" for r in results if not r.accuracy.correct]
    if wrong:
        print(f"\nwrong results, not timed: {', '.join(wrong)}", file=sys.stderr)
    sys.exit(1 if wrong else 0)
