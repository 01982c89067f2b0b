"""What benchmark_cuda.py measures: its rows, and how one is checked and timed."""

import dataclasses
import functools
import statistics
import time
from typing import Callable

import harness  # the paths
import accuracy
import device_time
import mlx.core as mx
import mlx.nn as nn
import product
import torch_programs
import triton_programs
import whole_programs
from workloads import WORKLOADS, Workload
from workloads.programs import PROGRAMS

CALLS = 20
MEMORY_BOUND = [
    "add", "gelu", "gelu_tanh", "silu", "swiglu", "bias_gelu_residual", "sum", "column_sum", "mean_var", "rms_norm",
    "layer_norm", "residual_rms_norm", "softmax", "log_softmax", "logsumexp", "masked_softmax",
]  # fmt: skip
# Helion's set is (4096, 128 i) for i from 2 to 99: a part of it, small ones denser.
SOFTMAX_COLUMNS = [128 * i for i in (2, 4, 8, 16, 24, 32, 48, 64, 99)]
SOFTMAX_BF16 = [128 * i for i in (2, 32, 99)]
GROUPS = ("large", "hot", "whole", "small", "softmax", "vocabulary", "decode")
ALLOWED = {mx.float32: 2.0**12, mx.float16: 2.0**6, mx.bfloat16: 2.0**6}  # units: the gate has judged by the oracle
ROTATED_BYTES, MOST_SETS = 1 << 30, 32  # arguments taken in turn are many times what L2 holds


def middle_sum(x):
    return mx.sum(x.reshape(128, -1, x.shape[-1]), axis=1)


MIDDLE = Workload("middle_sum", middle_sum, lambda draw, rows, columns: (draw.normal(rows, columns),), "reduction")


def softmax_of_columns(x):
    return mx.softmax(x, axis=0)


def logits_gradient(logits, labels):
    return mx.grad(lambda given: nn.losses.cross_entropy(given, labels, reduction="mean"))(logits)


def cumulative(x):
    return mx.cumsum(mx.exp(x), axis=-1)


def one_array(draw, rows, columns):
    return (draw.normal(rows, columns),)


OF_COLUMNS = Workload("softmax_of_columns", softmax_of_columns, one_array, "reduction")
GRADIENT = Workload("logits_gradient", logits_gradient, WORKLOADS["cross_entropy"].inputs, "reduction")
CUMULATIVE = Workload("cumulative", cumulative, one_array, "scan")


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    name: str
    dtype: str
    size: tuple  # empty: the program has one
    function: Callable
    make_args: Callable  # the same numbers each time, in new arrays
    built_in: Callable | None = None
    compared: Callable | None = None  # what is compared instead of the result
    close: Callable | None = None  # (ours, eager) -> (right, a figure): instead of units of the last place

    @property
    def by_the_host(self):
        """Whether the host decides how long it takes. The profiler slows the host, even when it has ended."""
        return self.group not in ("large", "softmax", "vocabulary")

    @property
    def label(self):
        return f"{self.name} {self.dtype} {'x'.join(map(str, self.size))}".strip()


def of_workload(group, workload, size, kind):
    make = functools.partial(workload.make_args, size, harness.DTYPES[kind])
    return Row(group, workload.name, kind, size, workload.function, make, workload.built_in)


def large_rows(rows, kind):
    for name in MEMORY_BOUND:
        yield of_workload("large", WORKLOADS[name], (rows, 4096), kind)
    yield of_workload("large", WORKLOADS["cross_entropy"], (4 * rows, 4096), kind)


def vocabulary_rows(shrink, kind):
    """Rows as long as a vocabulary, many and few, and what else a row has no block of its own for."""
    many, few = (2048 // shrink, 50257), (8, 131072 // shrink)
    for name in ("softmax", "logsumexp"):
        yield of_workload("vocabulary", WORKLOADS[name], many, kind)
        yield of_workload("vocabulary", WORKLOADS[name], few, kind)
    yield of_workload("vocabulary", GRADIENT, many, kind)
    yield of_workload("vocabulary", CUMULATIVE, few, kind)
    yield of_workload("vocabulary", OF_COLUMNS, (8192 // shrink, 4096), kind)


def table(shrink=1):
    """All rows: those first that the host decides, then the more important. `shrink` divides large numbers of rows."""
    for name, program in PROGRAMS.items():
        yield Row("hot", name, "", (), program.function, program.make_args, compared=program.before_draw)
    for name, function, make in whole_programs.blocks(shrink):
        yield Row("whole", name, "bf16", (), function, make, close=whole_programs.close)
    for name in ("gelu_tanh", "layer_norm", "softmax", "rms_norm"):
        for size in ((32, 64), (1, 4096)):
            yield of_workload("small", WORKLOADS[name], size, "f32")
    yield from large_rows(8192 // shrink, "f32")
    yield from large_rows(8192 // shrink, "bf16")
    yield of_workload("large", MIDDLE, (128 * (4096 // shrink), 4095), "f32")
    for columns in SOFTMAX_COLUMNS:
        yield of_workload("softmax", WORKLOADS["softmax"], (4096 // shrink, columns), "f32")
    for columns in SOFTMAX_BF16:
        yield of_workload("softmax", WORKLOADS["softmax"], (4096 // shrink, columns), "bf16")
    yield from large_rows(8192 // shrink, "f16")
    for kind in ("f32", "bf16"):
        yield from vocabulary_rows(shrink, kind)


def units(ours, theirs):
    """The largest difference of two results in units of the last place, on the device."""
    worst = 0.0
    for a, b in zip(accuracy.leaves(ours), accuracy.leaves(theirs), strict=True):
        bits = accuracy.MANTISSA_BITS.get(b.dtype)
        if a.shape != b.shape:
            return float("inf")
        if bits is None:
            worst = max(worst, mx.mean((a != b).astype(mx.float32)).item() * 2.0**20)  # a few may turn
            continue
        a, b = a.astype(mx.float32), b.astype(mx.float32)
        known = mx.isfinite(b)
        if not mx.array_equal(known, mx.isfinite(a)).item():
            return float("inf")
        b = mx.where(known, b, 0)
        size = mx.maximum(mx.abs(b), mx.sqrt(mx.mean(mx.square(b))) + 1e-30)
        worst = max(worst, (mx.max(mx.abs(mx.where(known, a, 0) - b) / size) * 2.0**bits).item())
    return worst


def verdict(row, got, expected):
    """(right, how far apart)"""
    if row.close:
        return row.close(got, expected)
    apart = units(got, expected)
    return apart <= accuracy.limit(expected, ALLOWED), apart


def judge_by_oracle(row, arguments, ours, eager, result):
    """Far from eager MLX is wrong unless eager is as far from double precision: where values of half dtypes decide about
    f32, one that rounds the other way moves both. The rule of the CPU's benchmarks (accuracy.judge)."""
    oracle = product.oracle(row.compared or row.function, arguments)
    if oracle is None:
        return
    judged = accuracy.judge(ours, eager, oracle)
    result["correct"], result["why"] = judged.correct, judged.failure
    result["from_oracle"] = {"ours": judged.against_oracle, "eager": judged.eager_against_oracle}


def mlx_runner(function, sets):
    """run(calls, cold): that many evaluated together; on the first set of arguments or, cold, on all in turn."""

    def run(calls, cold=False):
        used = sets if cold else sets[:1]
        outputs = [function(*used[call % len(used)]) for call in range(calls)]
        mx.eval(outputs)
        mx.synchronize()

    return run


def torch_contenders(row):
    """{name: function of tensors} of those that are installed and have the program."""
    if row.group not in ("large", "softmax", "small"):
        return {}
    found = {"torch.compile": torch_programs.function(row.name), "triton": triton_programs.function(row.name)}
    return {name: function for name, function in found.items() if function}


def bytes_of(tree):
    return sum(leaf.nbytes for leaf in accuracy.leaves(tree))


def more_sets(row, first):
    """The arguments, and copies of them beyond L2; one set where the copies are not needed."""
    wanted = 1 if row.by_the_host else -(-ROTATED_BYTES // bytes_of(list(first)))
    return [first, *(row.make_args() for _ in range(min(max(wanted, 2), MOST_SETS) - 1 if wanted > 1 else 0))]


def quartiles(samples):
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return [median, low, high]


def wall_times(runs, rounds):
    """{name: run} -> {name: {"pipelined", "alone": [median, quartiles]}}: seconds a call, of interleaved rounds."""
    samples = {name: ([], []) for name in runs}
    for run in runs.values():
        run(CALLS)
        run(CALLS)
    names = list(runs)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            for mode, calls in enumerate((CALLS, 1)):
                start = time.perf_counter()
                runs[name](calls)
                samples[name][mode].append((time.perf_counter() - start) / calls)
    return {name: {"pipelined": quartiles(many), "alone": quartiles(one)} for name, (many, one) in samples.items()}


def add_device_times(result, runs, cold):
    """To each contender's times those of the device: the same arguments each call, and, cold, others each call."""
    names = list(runs)
    modes = ("device", "device_cold") if cold else ("device",)
    jobs = [functools.partial(runs[name], cold=mode == "device_cold") for mode in modes for name in names]
    for job in jobs:
        job(CALLS)  # what the host has read lies with it, until the GPU first reads it again
    seconds, result["device_by"] = device_time.of(jobs)
    for place, value in enumerate(seconds):
        result["seconds"][names[place % len(names)]][modes[place // len(names)]] = value


def add_device_times_later(row, result):
    """Of MLX's contenders, to a row whose other times the host decides."""
    arguments = row.make_args()
    runs = {name: mlx_runner(function, [arguments]) for name, function in contenders(row).items()}
    for run in runs.values():
        run(CALLS)
    add_device_times(result, runs, cold=False)


def contenders(row):
    found = {"eager": row.function, "mx.compile": mx.compile(row.function), "ours": product.compile(row.function)}
    return found | ({"built in": row.built_in} if row.built_in else {})


def warm(row):
    """Everything that is compiled for a row, so that it is found on disk later."""
    arguments = row.make_args()
    mx.eval(row.function(*arguments))  # what ours is timed against is compiled before it is timed
    for function in contenders(row).values():
        mx.eval(function(*arguments))
    if row.compared:
        mx.eval(product.compile(row.compared)(*arguments))
    others = torch_contenders(row)
    if others:
        tensors = tensors_of(arguments)
        for function in others.values():
            torch_programs.runner(function, [tensors])(1)


def about(row, arguments, fast, ours):
    outcomes = product.outcomes(fast)
    return {
        "group": row.group,
        "name": row.name,
        "dtype": row.dtype,
        "size": list(row.size),
        "bytes": bytes_of(list(arguments)) + bytes_of(ours),
        "kernels": sum(not outcome.use_mlx for outcome in outcomes),
        "way": product.way(fast),
        "regions": [
            {"what": o.provenance or o.short_reason, "seconds": o.seconds, "baselines": o.baselines} for o in outcomes
        ],
    }


def tensors_of(arguments):
    return [torch_programs.tensor_of(array) for array in arguments]


def check_others(row, others, tensor_sets, eager, result):
    """Those of PyTorch's side that give MLX's answer; the others are named in the result."""
    right = {}
    for name, function in others.items():
        try:
            got = function(*tensor_sets[0])
            leaves = [torch_programs.array_of(t) for t in (got if isinstance(got, tuple) else (got,))]
            fine, apart = verdict(row, leaves, accuracy.leaves(eager))
        except Exception as failure:  # of whatever kind: the contender has no time, and the others have
            result.setdefault("left_out", {})[name] = f"{type(failure).__name__}: {failure}"[:300]
            continue
        if fine:
            right[name] = function
        else:
            result.setdefault("left_out", {})[name] = f"{apart:.0f} units from MLX eager"
    return right


def measure(row, rounds):
    """The row as a dict, without "seconds" when it is wrong."""
    arguments = row.make_args()
    mlx_side = contenders(row)
    fast = mlx_side["ours"]
    ours, eager = fast(*arguments), row.function(*arguments)
    mx.eval(ours, eager)
    result = about(row, arguments, fast, ours)
    pair = (product.compile(row.compared)(*arguments), row.compared(*arguments)) if row.compared else (ours, eager)
    result["correct"], result["apart"] = verdict(row, *pair)
    if not result["correct"] and not row.close:
        judge_by_oracle(row, arguments, *pair, result)
    if not result["correct"]:
        return result
    others = torch_contenders(row)
    tensor_sets = [tensors_of(arguments)] if others else []
    others = check_others(row, others, tensor_sets, eager, result)
    del ours, eager, pair
    sets = more_sets(row, arguments)
    runs = {name: mlx_runner(function, sets) for name, function in mlx_side.items()}
    tensor_sets += [torch_programs.copied(tensor_sets[0]) for _ in sets[1:]] if others else []
    runs |= {name: torch_programs.runner(function, tensor_sets) for name, function in others.items()}
    result["seconds"] = wall_times(runs, rounds)
    if not row.by_the_host:
        add_device_times(result, runs, cold=len(sets) > 1)
    return result
