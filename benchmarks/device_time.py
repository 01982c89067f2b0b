"""How long the GPU itself works for a call, without the host's latency: from CUPTI's records of each kernel and copy, taken
through PyTorch's profiler, which sees those of MLX and of Auto-Perfect in this process as well. Work that runs side by
side counts once. Without PyTorch: what sixty calls more in one evaluation cost each, which is the host's time where that
is longer."""

import statistics
import time

try:
    import torch
    from torch.profiler import ProfilerActivity, profile
except ImportError:
    torch = None

CALLS = 20
MORE_CALLS, ROUNDS = 60, 5
MARK = "triu_tril"  # the kernel of torch.tril, which nothing that is measured runs


def how():
    """The way times are taken here: "records" or "slope"."""
    return "records" if torch is not None and torch.cuda.is_available() else "slope"


def union(spans):
    """The length that (start, end) spans cover."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def split(records):
    """[(start, end, name)] -> the spans after each mark, in order of time."""
    parts = []
    for start, end, name in sorted(records):
        if MARK in name:
            parts.append([])
        elif parts:
            parts[-1].append((start, end))
    return parts


def is_work(event):
    on_gpu = event.device_type == torch.autograd.DeviceType.CUDA
    return on_gpu and not getattr(event, "is_user_annotation", False)


def from_records(jobs):
    mark = torch.ones(4, 4, device="cuda")
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for job in jobs:
            torch.cuda.synchronize()
            torch.tril(mark)
            torch.cuda.synchronize()
            job(CALLS)
        torch.cuda.synchronize()
    records = [(e.time_range.start, e.time_range.end, e.name) for e in profiled.events() if is_work(e)]
    parts = split(records)
    if len(parts) != len(jobs):
        raise RuntimeError(f"{len(parts)} marks in the profiler's records, {len(jobs)} were set")
    return [union(spans) * 1e-6 / CALLS for spans in parts]


def slope(job):
    def seconds(calls):
        start = time.perf_counter()
        job(calls)
        return time.perf_counter() - start

    seconds(CALLS + MORE_CALLS)
    pairs = [seconds(CALLS + MORE_CALLS) - seconds(CALLS) for _ in range(ROUNDS)]
    return max(0.0, statistics.median(pairs) / MORE_CALLS)


def of(jobs):
    """[job(calls)] -> (seconds a call of each, "records" or "slope")."""
    if how() == "records":
        try:
            return from_records(jobs), "records"
        except Exception as failure:  # of the profiler, whatever it is: there is another way
            print(f"no records of the device: {type(failure).__name__}: {failure}", flush=True)
    return [slope(job) for job in jobs], "slope"
