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
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures.process import BrokenProcessPool

import cuda_report
import cuda_rows
import device_time
import machine
import mlx.core as mx
import product
import torch_programs
import triton_programs
import whole_programs

DECODE = "decode"
SHRUNK = 64  # of a dry run


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--groups", nargs="+", choices=cuda_rows.GROUPS, default=list(cuda_rows.GROUPS))
    parser.add_argument("--dtypes", nargs="+", choices=["f32", "bf16", "f16"], help="of the rows that come in several")
    parser.add_argument("--fill", type=int, default=max(1, min(12, (os.cpu_count() or 2) - 2)), metavar="PROCESSES",
                        help="that compile and tune first (default %(default)s; 0: none, rows do so as they come)")
    parser.add_argument("--fill-only", action="store_true", help="measure nothing")
    parser.add_argument("--seconds", type=float, default=86400, metavar="S",
                        help="no row is begun later than this, and filling ends at two fifths of it")
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


def mlx_kernels():
    """The folder of kernels that MLX has compiled."""
    default = pathlib.Path(tempfile.gettempdir(), "mlx", mx.__version__, "ptx")
    return pathlib.Path(os.environ.setdefault("MLX_PTX_CACHE_DIR", str(default)))


def start_filling(parts):
    """Of a process that fills: MLX's folder is not made for several that write it at once, so each has a copy."""
    own = pathlib.Path(parts, str(os.getpid()))
    own.mkdir(parents=True)
    if mlx_kernels().is_dir():
        shutil.copytree(mlx_kernels(), own, dirs_exist_ok=True)
    os.environ["MLX_PTX_CACHE_DIR"] = str(own)


def warm_one(chosen, place):
    """In a process of its own: (what, seconds, why it failed)."""
    use_device(chosen)
    mx.set_cache_limit(1 << 30)
    start, failure = time.perf_counter(), ""
    rows = selected(chosen)
    name = DECODE if place == DECODE else rows[place].label
    try:
        if place == DECODE:
            whole_programs.warm_decode(shrink(chosen))
        else:
            cuda_rows.warm(rows[place])
    except Exception as error:  # the row says why when it is measured
        failure = f"{type(error).__name__}: {error}"[:200]
    mx.clear_cache()
    torch_programs.release()
    return name, time.perf_counter() - start, failure


def fill(chosen):
    """Compiles and tunes all rows in several processes; those that time kernels take turns."""
    rows = selected(chosen)
    last = {"large": 1, "small": 2, "softmax": 2}  # whole programs and hot functions take longest
    places = sorted(range(len(rows)), key=lambda place: last.get(rows[place].group, 0))
    places = [DECODE] * wants_decode(chosen) + places
    start, taken = time.perf_counter(), []
    context = multiprocessing.get_context("spawn")
    parts = tempfile.TemporaryDirectory(prefix="mlx-kernels-")
    arguments = {"mp_context": context, "initializer": start_filling, "initargs": (parts.name,)}
    with parts, concurrent.futures.ProcessPoolExecutor(chosen.fill, **arguments) as pool:
        futures = [pool.submit(warm_one, chosen, place) for place in places]
        try:
            for future in concurrent.futures.as_completed(futures, timeout=0.4 * chosen.seconds):
                name, seconds, failure = future.result()
                taken.append((seconds, name))
                if failure:
                    print(f"fill: {name}: {failure}", flush=True)
        except (concurrent.futures.TimeoutError, BrokenProcessPool) as error:
            print(f"fill: ended early, {len(taken)} of {len(places)} are ready: {type(error).__name__}", flush=True)
        pool.shutdown(wait=True, cancel_futures=True)
        for part in pathlib.Path(parts.name).iterdir():
            shutil.copytree(part, mlx_kernels(), dirs_exist_ok=True)
    seconds = time.perf_counter() - start
    slowest = ", ".join(f"{name} {seconds:.1f}" for seconds, name in sorted(taken, reverse=True)[:8])
    print(f"filled by {chosen.fill} processes in {seconds:.1f} s; the longest, in seconds: {slowest}\n", flush=True)
    return seconds


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

    def __init__(self, chosen, document, end):
        self.chosen, self.document, self.end = chosen, document, end
        self.rows = selected(chosen)

    def run(self):
        results = [(row, self.measure(row)) for row in self.rows if row.by_the_host]
        self.decode()
        rest = [row for row in self.rows if not row.by_the_host]
        for row in rest:
            self.measure(row)
        if len(rest) > 8 and self.in_time(rest[0]):  # does the run hold still?
            again = attempt("large", rest[0].label, lambda: cuda_rows.measure(rest[0], self.chosen.rounds))
            self.document["again"] = again
            print(f"again:\n{cuda_report.line(again, self.document['copy'])}", flush=True)
        for row, result in results:
            if result and result["correct"] and self.in_time(row):
                attempt(row.group, row.label, lambda: cuda_rows.add_device_times_later(row, result))
        self.write()

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
    if chosen.fill:
        document["fill_seconds"] = fill(chosen)
    if chosen.fill_only:
        return
    print(cuda_report.HEAD)
    measurement = Measurement(chosen, document, end)
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
