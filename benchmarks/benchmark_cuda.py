"""On an NVIDIA GPU: MLX eager, mx.compile, MLX's own operation, torch.compile and a hand-written Triton kernel (where PyTorch and
Triton are installed) and Auto-Perfect side by side, correctness first.

First `--fill` processes compile and tune everything, each timing in turn, so that all that follows finds it on disk; then one
process measures, with nothing beside it. Times of a call:

  pipelined   wall clock, twenty calls evaluated together, as programs have them
  alone       wall clock, one call an evaluation
  device      what the GPU itself worked (device_time.py), the same arguments each call: L2 as warm as it gets
  cold        the same with arguments taken in turn, together more than L2 holds

Shares are of this device's own copy, measured in the same run. The bars: 90% of the copy on memory-bound programs at (8192,
4096), at least the best of the others by geometric mean; the thirty hot functions 1.5 times the better of eager and
mx.compile by geometric mean, none slower. Each row that misses is named.

`--report FILE` shows what an earlier run wrote with --json; with --plot as a chart, too.
"""

import argparse
import functools
import json
import math
import os
import pathlib
import sys
import time
import traceback

import cuda_report
import cuda_rows
import device_time
import fill
import machine
import mlx.core as mx
import product
import torch_programs
import triton_programs
import whole_programs

DECODE = "decode"
SHRUNK = 64  # of a dry run
HUGE = 1 << 30  # elements
CACHE = 6 << 30  # bytes MLX may keep in each process that fills: enough that timing allocates nothing anew


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--groups", nargs="+", choices=cuda_rows.GROUPS, default=list(cuda_rows.GROUPS))
    parser.add_argument("--dtypes", nargs="+", choices=["f32", "bf16", "f16"], help="of the rows that come in several")
    parser.add_argument("--fill", type=int, default=max(1, min(15, (os.cpu_count() or 2) - 1)), metavar="PROCESSES",
                        help="that compile and tune first (default %(default)s; 0: none, rows do so as they come)")
    parser.add_argument("--fill-only", action="store_true", help="measure nothing")
    parser.add_argument("--seconds", type=float, default=86400, metavar="S",
                        help="no row is begun later than this, and filling ends before half of it")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="an SVG or PNG (needs matplotlib)")
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, small: whether everything runs, no figures")
    return parser.parse_args()


def shrink(chosen):
    return SHRUNK if chosen.dry_run else 1


def selected(chosen):
    """Rows, the more important first."""
    rows = [row for row in cuda_rows.table(shrink(chosen)) if row.group in chosen.groups]
    rows = [row for row in rows if not chosen.dtypes or row.dtype in ("", *chosen.dtypes)]
    return [row for row in rows if not chosen.only or row.name in chosen.only]


def wants_decode(chosen):
    return DECODE in chosen.groups and (not chosen.only or DECODE in chosen.only)


def use_device(chosen):
    mx.set_default_device(mx.cpu if chosen.dry_run else mx.gpu)


def warm(chosen, task):
    """Compiles and tunes one row, or a part of decoding; in a process of its own."""
    use_device(chosen)
    mx.set_cache_limit(CACHE)
    if task.startswith(DECODE):
        whole_programs.warm_decode(shrink(chosen), task.removeprefix(f"{DECODE}: "))
    else:
        cuda_rows.warm(next(row for row in selected(chosen) if row.label == task))
    mx.clear_cache()
    torch_programs.release()


def fill_all(chosen):
    """(what is ready, seconds it took)"""
    last = {"large": 1, "softmax": 2, "small": 1, "vocabulary": 3}  # whole programs and hot functions take longest
    rows = [row for row in selected(chosen) if math.prod(row.size) < HUGE]  # beside others they lack memory
    rows.sort(key=lambda row: (row.dtype == "f16", last.get(row.group, 0)))
    tasks = [f"{DECODE}: {name}" for name in whole_programs.CONTENDERS] if wants_decode(chosen) else []
    tasks += [row.label for row in rows]
    return fill.fill(tasks, functools.partial(warm, chosen), chosen.fill, 0.55 * chosen.seconds)


def about(chosen):
    gpu = {"name": "dry run on the CPU", "copy_bytes_per_second": 1e10} if chosen.dry_run else product.gpu()
    return {
        "gpu": gpu,
        "copy": gpu["copy_bytes_per_second"],
        "processor": machine.processor(),
        "threads": os.cpu_count(),
        "versions": f"MLX {mx.__version__}, {torch_programs.about()}, {triton_programs.about()}, "
        f"Auto-Perfect {product.version()}",
        "rounds": chosen.rounds,
        "calls": cuda_rows.CALLS,
        "device_time": device_time.how(),
    }


def attempt(group, name, measure):
    """A row that fails is a wrong one that says why; the others are measured all the same."""
    try:
        return measure()
    except Exception:
        why = traceback.format_exc(limit=4)
        return {"group": group, "name": name, "dtype": "", "size": [], "correct": False, "apart": float("inf"), "why": why}


class Measurement:
    """Rows into the document, which is written after each."""

    def __init__(self, chosen, document, end, ready):
        self.chosen, self.document, self.end = chosen, document, end
        self.rows = sorted(selected(chosen), key=lambda row: row.label not in ready)  # others take long

    def run(self):
        results = [(row, self.measure(row)) for row in self.rows if row.by_the_host]
        self.decode()
        rest = [row for row in self.rows if not row.by_the_host]
        for row in rest:
            if row.dtype != "f16":
                self.measure(row)
        if len(rest) > 8:
            self.again(rest[0])
        for row, result in results:
            if result and result["correct"] and self.in_time(row):
                attempt(row.group, row.label, lambda: cuda_rows.add_device_times_later(row, result))
        for row in rest:  # much like bf16
            if row.dtype == "f16":
                self.measure(row)

    def again(self, row):
        """One row a second time: does the run hold still?"""
        if self.in_time(row):
            self.document["again"] = attempt(row.group, row.label, lambda: cuda_rows.measure(row, self.chosen.rounds))
            print(f"again:\n{cuda_report.line(self.document['again'], self.document['copy'])}", flush=True)

    def in_time(self, row):
        if time.perf_counter() <= self.end:
            return True
        self.document["not_measured"].append(row.label)
        return False

    def measure(self, row):
        if not self.in_time(row):
            return None
        result = attempt(row.group, row.label, lambda: cuda_rows.measure(row, self.chosen.rounds))
        self.keep(result, cuda_report.line(result, self.document["copy"]))
        return result

    def decode(self):
        if not wants_decode(self.chosen):
            return
        row = attempt(DECODE, DECODE, lambda: whole_programs.measure_decode(shrink(self.chosen)))
        if row:
            self.keep(row, cuda_report.decode_line(row))

    def keep(self, result, text):
        self.document["rows"].append(result)
        print(text, flush=True)
        self.write()
        mx.clear_cache()
        torch_programs.release()

    def write(self):
        if self.chosen.json:
            self.chosen.json.write_text(json.dumps(self.document))


def report(chosen):
    document = json.loads(chosen.report.read_text())
    print(cuda_report.markdown(document))
    if chosen.plot:
        cuda_report.plot(document, chosen.plot)


def run(chosen):
    if not chosen.dry_run and not mx.is_available(mx.gpu):
        sys.exit("no GPU: MLX has none on this machine")
    use_device(chosen)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no helpers beside what is timed
    start = time.perf_counter()
    end = start + chosen.seconds
    document = about(chosen) | {"rows": [], "not_measured": []}
    print(f"{document['gpu']}\n{document['versions']}; device time by {document['device_time']}", flush=True)
    for left_out in (torch_programs.WITHOUT, triton_programs.WITHOUT):
        if left_out:
            print(left_out)
    ready = []
    if chosen.fill:
        ready, document["fill_seconds"] = fill_all(chosen)
    if chosen.fill_only:
        return
    print(cuda_report.HEAD)
    measurement = Measurement(chosen, document, end, ready)
    measurement.run()
    document["seconds"] = time.perf_counter() - start
    measurement.write()
    print()
    for text, reached in cuda_report.bars(document):
        print(f"{'pass' if reached else 'MISS'}  {text}")
    if chosen.plot:
        cuda_report.plot(document, chosen.plot)
    sys.exit(0 if all(row["correct"] for row in document["rows"]) else 1)


if __name__ == "__main__":
    arguments = options()
    report(arguments) if arguments.report else run(arguments)
