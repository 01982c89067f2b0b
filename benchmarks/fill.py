"""Compiling and tuning everything that is measured afterwards, in several processes at once; those that time kernels take turns.

What they find is on disk then. A process that dies, or does not end in time, costs what it was at; the others go on.
"""

import collections
import multiprocessing
import os
import pathlib
import queue
import shutil
import tempfile
import time

import mlx.core as mx


def mlx_kernels():
    """The folder of kernels that MLX has compiled."""
    default = pathlib.Path(tempfile.gettempdir(), "mlx", mx.__version__, "ptx")
    return pathlib.Path(os.environ.setdefault("MLX_PTX_CACHE_DIR", str(default)))


def work(number, folder, tasks, results, run):
    """One process. MLX's folder is not made for several that write it at once, so each has a copy."""
    own = pathlib.Path(folder, str(number))
    own.mkdir(parents=True)
    if mlx_kernels().is_dir():
        shutil.copytree(mlx_kernels(), own, dirs_exist_ok=True)
    os.environ["MLX_PTX_CACHE_DIR"] = str(own)
    for task in iter(tasks.get, None):
        start, failure = time.perf_counter(), ""
        try:
            run(task)
        except Exception as error:  # the row says why when it is measured
            failure = f"{type(error).__name__}: {error}"[:200]
        results.put((task, time.perf_counter() - start, failure))


def join_kernels(folder):
    """Back into MLX's folder: of each kernel three files, the source written last."""
    for source in pathlib.Path(folder).glob("*/**/*.cu"):
        relative = source.relative_to(folder)
        target = mlx_kernels().joinpath(*relative.parts[1:])
        target.parent.mkdir(parents=True, exist_ok=True)
        for kind in (".ptx", ".txt", ".cu"):
            shutil.copyfile(source.with_suffix(kind), target.with_suffix(kind))


def collect(processes, results, count, end):
    """[(task, seconds, failure)] of what was done before `end` (of time.perf_counter)."""
    done = []
    while len(done) < count and time.perf_counter() < end:
        try:
            done.append(results.get(timeout=0.2))
        except queue.Empty:
            if not any(process.is_alive() for process in processes):
                break
    return done


def fill(tasks, run, count, seconds):
    """run(task) of each in `count` processes, none for longer than `seconds` in all: (tasks done, seconds it took)."""
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    waiting, results = context.Queue(), context.Queue()
    for task in [*tasks, *[None] * count]:
        waiting.put(task)
    with tempfile.TemporaryDirectory(prefix="mlx-kernels-") as folder:
        arguments = [(number, folder, waiting, results, run) for number in range(count)]
        processes = [context.Process(target=work, args=one, daemon=True) for one in arguments]
        for process in processes:
            process.start()
        done = collect(processes, results, len(tasks), start + seconds)
        for process in processes:
            process.terminate()
            process.join()
        join_kernels(folder)
    took = time.perf_counter() - start
    report(tasks, done, count, took)
    return [task for task, _, _ in done], took


def report(tasks, done, count, took):
    for task, _, failure in done:
        if failure:
            print(f"fill: {task}: {failure}")
    slowest = ", ".join(f"{task} {seconds:.1f}" for task, seconds, _ in sorted(done, key=lambda one: -one[1])[:12])
    print(f"{len(done)} of {len(tasks)} filled by {count} processes in {took:.1f} s, {sum(one[1] for one in done):.0f} in all;")
    print(f"the longest, in seconds: {slowest}")
    missing = collections.Counter(tasks) - collections.Counter(task for task, _, _ in done)
    print(f"not ready in time: {', '.join(missing)}\n" if missing else "", flush=True)
