"""The first call, cold and warm: new processes with an empty cache directory, then with the one just filled.

Also checked: the warm process runs no compiler, takes every region from the cache, and its results are right.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import compiler_runs
import harness
import report
from workloads import WORKLOADS

NAMES = ["layer_norm", "softmax", "gelu_tanh", "cross_entropy", "transformer_block"]
CHILD = "--first-call"  # how this script calls itself in a new process


def first_call(name, size, dtype):
    """In a new process: prints the record of the first and of a later call as JSON."""
    import correctness
    import mlx.core as mx
    import product
    import timing

    mx.set_default_device(mx.cpu)
    workload = WORKLOADS[name]
    arguments = workload.make_args(size, harness.DTYPES[dtype])
    fast, compiled = product.compile(workload.function), mx.compile(workload.function)
    product.copy_limit()  # measures the machine when the cache directory is new, which is not of this program
    before = compiler_runs.count(os.environ["CXX"])
    first = timing.sample(fast, arguments, 1)
    runs = compiler_runs.count(os.environ["CXX"]) - before
    later, mlx_first = timing.sample(fast, arguments, 3), timing.sample(compiled, arguments, 1)
    regions = [row.from_cache for row in product.outcomes(fast)]
    verdict = correctness.check(workload, size, harness.DTYPES[dtype], arguments, fast(*arguments))
    record = {"first": first, "later": later, "mx.compile first": mlx_first, "regions": regions, "compiler runs": runs}
    print(json.dumps({**record, "correct": verdict.correct, "error": verdict.against_oracle, "failure": verdict.failure}))


def in_new_process(name, size, dtype, folder):
    temporary = tempfile.mkdtemp(dir=folder)  # MLX keeps its own compiled code there: new for each process
    wrapper = compiler_runs.write_wrapper(folder)
    variables = {"CXX": str(wrapper), "AUTOPERFECT_CACHE_DIR": str(folder / "cache"), "TMPDIR": temporary}
    command = [sys.executable, __file__, CHILD, name, f"{size[0]}x{size[1]}", dtype]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: the new process failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def failure_of(cold, warm):
    if not cold["correct"] or not warm["correct"]:
        return cold["failure"] or warm["failure"]
    if warm["compiler runs"]:
        return f"the warm process ran the compiler {warm['compiler runs']} times"
    return "" if all(warm["regions"]) else "the warm process did not take every region from the cache"


def case(name, size, dtype):
    with tempfile.TemporaryDirectory(prefix="autoperfect-") as folder:
        cold, warm = (in_new_process(name, size, dtype, pathlib.Path(folder)) for _ in range(2))
    failure = failure_of(cold, warm)
    record = {"name": name, "size": size, "dtype": dtype}
    record["accuracy"] = {"correct": not failure, "failure": failure, "against_oracle": warm["error"]}
    record["times"] = {} if failure else {"cold": cold, "warm": warm}
    return record


def row(record):
    head = f"{record['name']:18} {record['size'][0]:>5}x{record['size'][1]:<5} {record['dtype']:4}"
    if not record["times"]:
        return f"{head} FAILED: {record['accuracy']['failure']}"
    cold, warm = record["times"]["cold"], record["times"]["warm"]
    return (
        f"{head} {len(cold['regions']):7} {cold['compiler runs']:9} {cold['first'] * 1e3:8.0f}"
        f" {warm['compiler runs']:9} {warm['first'] * 1e3:8.1f} {warm['later'] * 1e3:8.2f}"
        f" {warm['mx.compile first'] * 1e3:10.0f}"
    )


def main():
    chosen = harness.options(__doc__, sizes=["512x1024"], iterations=1)
    about = harness.machine.describe()
    print(f"Cache effects\n{harness.machine.line(about)}\none new process for each number\n")
    print(f"{'':35}         {'--- cold ---':>18} {'--- warm ---':>18}")
    print(f"{'':35} regions  compiles first ms  compiles first ms later ms mx.compile first ms")
    records = []
    for workload in harness.selected(NAMES, chosen):
        for size in chosen.sizes:
            for dtype in chosen.dtype:
                records.append(case(workload.name, size, dtype))
                print(row(records[-1]), flush=True)
    report.write_json("Cache effects", about, records, chosen)
    sys.exit(0 if all(record["accuracy"]["correct"] for record in records) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        first_call(sys.argv[2], harness.parse_size(sys.argv[3]), sys.argv[4])
    else:
        main()
