"""python -m tests.differential --minutes N: random programs, all ways to run them, until the time is over.

Each batch is a process of its own, so that a crash ends one batch only. Failures are written to build/differential; move such a
file to tests/differential/regress once its cause is repaired, and the suite runs it."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import mlx.core as mx

BATCH = 150
BATCH_SECONDS = 900  # far more than a batch takes: one that is not over by then hangs


def batch(arguments):
    from .session import Session

    mx.set_default_device(mx.cpu)
    session = Session(arguments.seed, arguments.kernels)
    failure = session.run(BATCH)
    report = {"count": session.count}
    if failure:
        report["failure"] = f"{type(failure.error).__name__}: {failure.error}\n{failure.program}"
        report["file"] = str(failure.file)
    print(json.dumps(report))


def run_batch(seed, kernels):
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.differential", "--batch", "--seed", str(seed), "--kernels", str(kernels)]
    with tempfile.TemporaryDirectory(prefix="autoperfect-fuzz-") as cache:
        environment = {**os.environ, "AUTOPERFECT_CACHE_DIR": cache}
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=BATCH_SECONDS)
        except subprocess.TimeoutExpired:
            return {"count": {}, "failure": f"a program did not end within {BATCH_SECONDS} s", "file": f"build/differential/running-{seed}.txt"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    return {"count": {}, "failure": f"the process ended with {done.returncode}\n{done.stderr[-3000:]}", "file": f"build/differential/running-{seed}.txt"}


def run_files(files):
    from . import regress

    mx.set_default_device(mx.cpu)
    mx.disable_compile()
    for file in files:
        regress.run(pathlib.Path(file), collections.Counter())
        print(f"{file}: agrees")


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first batch")
    parser.add_argument("--kernels", type=int, default=2, help="compile the kernels of one in so many programs; 0: of none")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", help="regress files to run instead")
    arguments = parser.parse_args()
    if arguments.files:
        return run_files(arguments.files)
    if arguments.batch:
        return batch(arguments)
    total, failures, seed = collections.Counter(), 0, arguments.seed
    end = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end:
        report = run_batch(seed, arguments.kernels)
        total.update(report["count"])
        if "failure" in report:
            failures += 1
            print(f"seed {seed}: {report['failure']}\n{report['file']}\n", flush=True)
        seed += 1
    for what, number in sorted(total.items()):
        print(f"{number:8} {what}")
    print(f"{seed - arguments.seed} batches from seed {arguments.seed}, {failures} failures")
    sys.exit(1 if failures else 0)


main()
