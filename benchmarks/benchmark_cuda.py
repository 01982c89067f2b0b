"""On an NVIDIA GPU: MLX eager, mx.compile, MLX's own operation, torch.compile (where torch is installed) and Auto-Perfect
side by side, correctness first. `pipelined`: microseconds of a call when twenty are evaluated together, as programs have
them; `alone`: one call to an evaluation. Shares are of this device's own copy, measured in the same run.

The bars: 90% of the copy on memory-bound programs at (8192, 4096), at least the best of the others by geometric mean; the
thirty hot functions 1.5 times the better of eager and mx.compile by geometric mean, none slower. Each row that misses is named.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import accuracy
import harness
import mlx.core as mx
import product
import torch_programs
from workloads import WORKLOADS, Workload
from workloads.programs import PROGRAMS

CALLS = 20
MEMORY_BOUND = [
    "add", "gelu", "gelu_tanh", "silu", "swiglu", "bias_gelu_residual", "sum", "column_sum", "mean_var", "rms_norm",
    "layer_norm", "residual_rms_norm", "softmax", "log_softmax", "logsumexp", "masked_softmax",
]  # fmt: skip
ALLOWED = {mx.float32: 2.0**12, mx.float16: 2.0**6, mx.bfloat16: 2.0**6}  # units: the gate has judged by the oracle


def middle_sum(x):
    return mx.sum(x.reshape(128, -1, x.shape[-1]), axis=1)


MIDDLE = Workload("middle_sum", middle_sum, lambda draw, rows, columns: (draw.normal(rows, columns),), "reduction")


def cases(quick):
    """(group, name, function, built in, arguments) for all rows of the table."""
    for kind in ("f32", "bf16") if quick else harness.DTYPES:
        for name in MEMORY_BOUND:
            yield "large", WORKLOADS[name], (8192, 4096), kind
        yield "large", WORKLOADS["cross_entropy"], (32768, 4096), kind
    for columns in (256, 1024, 4096, 10112):
        yield "softmax", WORKLOADS["softmax"], (4096, columns), "f32"
    yield "large", MIDDLE, (128 * 4096, 4095), "f32"
    for name in ("gelu_tanh", "layer_norm", "softmax", "rms_norm"):
        for size in ((32, 64), (1, 4096)):
            yield "small", WORKLOADS[name], size, "f32"


def units(ours, theirs):
    """The largest difference of two results in units of the last place, on the device."""
    worst = 0.0
    for a, b in zip(accuracy.leaves(ours), accuracy.leaves(theirs), strict=True):
        bits = accuracy.MANTISSA_BITS.get(b.dtype)
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


def mlx_run(function, arguments):
    def run(calls):
        outputs = [function(*arguments) for _ in range(calls)]
        mx.eval(outputs)
        mx.synchronize()

    return run


def measure(contenders, rounds):
    """{name: run(calls)} -> {name: (pipelined, alone)} in seconds a call: medians of interleaved rounds."""
    samples = {name: ([], []) for name in contenders}
    for run in contenders.values():
        run(CALLS)
        run(CALLS)
    names = list(contenders)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            for mode, calls in enumerate((CALLS, 1)):
                start = time.perf_counter()
                contenders[name](calls)
                samples[name][mode].append((time.perf_counter() - start) / calls)
    return {name: tuple(statistics.median(times) for times in both) for name, both in samples.items()}


def row_of(group, name, dtype, size, function, built_in, arguments, chosen, compared=None):
    fast = product.compile(function)
    ours, eager = fast(*arguments), function(*arguments)
    row = {"group": group, "name": name, "dtype": dtype, "size": size}
    pair = (product.compile(compared)(*arguments), compared(*arguments)) if compared else (ours, eager)
    row["units"] = units(*pair)
    row["bytes"] = sum(leaf.nbytes for leaf in accuracy.leaves(list(arguments)) + accuracy.leaves(ours))
    row["kernels"] = sum(not outcome.use_mlx for outcome in product.outcomes(fast))
    row["regions"] = [(o.provenance or o.short_reason, o.seconds, o.baselines) for o in product.outcomes(fast)]
    row["correct"] = row["units"] <= accuracy.limit(eager, ALLOWED)
    del ours, eager
    if not row["correct"]:
        return row
    contenders = {"eager": function, "mx.compile": mx.compile(function), "ours": fast}
    if built_in:
        contenders["built in"] = built_in
    runs = {key: mlx_run(contender, arguments) for key, contender in contenders.items()}
    torch_run = None if chosen.no_torch or group == "hot" else torch_programs.runner(name, arguments)
    if torch_run:
        runs["torch.compile"] = torch_run
    row["seconds"] = measure(runs, chosen.rounds)
    return row


def all_rows(chosen):
    """Of every row how to measure it, so that a part of them can be asked for."""

    def workload_row(group, workload, size, kind):
        arguments = workload.make_args(size, harness.DTYPES[kind])
        text = "x".join(map(str, size))
        return row_of(group, workload.name, kind, text, workload.function, workload.built_in, arguments, chosen)

    def program_row(name, program):
        return row_of(
            "hot", name, "", "", program.function, None, program.make_args(), chosen, program.before_draw)

    rows = [(case[0], case[1].name, workload_row, case) for case in cases(chosen.quick)]
    rows += [("hot", name, program_row, (name, program)) for name, program in PROGRAMS.items()]
    rows = [row for row in rows if row[0] in chosen.groups and (not chosen.only or row[1] in chosen.only)]
    part, parts = map(int, chosen.part.split("/"))
    for _, _, measure_row, case in rows[part::parts]:
        yield measure_row(*case)


def ratio(row, against, mode=0):
    others = [row["seconds"][key][mode] for key in against if key in row["seconds"]]
    return min(others) / row["seconds"]["ours"][mode]


MLX_ONLY = ("eager", "mx.compile")
EVERYBODY = (*MLX_ONLY, "built in", "torch.compile")
COLUMNS = (*EVERYBODY, "ours")


def line(row, copy):
    text = f"{row['name']:24} {row['dtype']:5} {row['size']:12} "
    if not row["correct"]:
        return text + f"WRONG by {row['units']:.0f} units"
    for mode in (0, 1):
        for key in COLUMNS:
            text += f"{row['seconds'][key][mode] * 1e6:9.1f}" if key in row["seconds"] else f"{'':9}"
        text += " |"
    share = row["bytes"] / row["seconds"]["ours"][0] / copy
    return text + f" {ratio(row, EVERYBODY):6.2f} {share:5.0%} {row['kernels']:2}"


def bars(rows, copy):
    """(text, reached) of each bar."""
    right = [row for row in rows if row["correct"]]
    large, hot = ([row for row in right if row["group"] == group] for group in ("large", "hot"))
    for row in large:
        share = row["bytes"] / row["seconds"]["ours"][0] / copy
        yield f"{row['name']} {row['dtype']} {row['size']}: {share:.0%} of the copy, bar 90%", share >= 0.9
    if large:
        mean = statistics.geometric_mean(ratio(row, EVERYBODY) for row in large)
        yield f"large programs: {mean:.2f} x the best of the others, bar 1.0", mean >= 1.0
    if hot:
        for mode, name in enumerate(("pipelined", "alone")):
            mean = statistics.geometric_mean(ratio(row, MLX_ONLY, mode) for row in hot)
            yield f"hot functions, {name}: {mean:.2f} x the better of eager and mx.compile, bar 1.5", mean >= 1.5
    for row in hot:
        times = ratio(row, MLX_ONLY)
        yield f"{row['name']}: {times:.2f} x the better of eager and mx.compile, bar 1", times >= 0.97
    for row in (row for row in right if row["size"] == "32x64"):
        times = row["seconds"]["mx.compile"][1] / row["seconds"]["ours"][1]
        yield f"{row['name']} 32x64, one call alone: {times:.2f} x mx.compile, bar 1", times >= 0.97


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="f32 and bf16 only")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--groups", nargs="+", default=["large", "softmax", "small", "hot"])
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every Nth row from the Kth: for filling caches")
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    if not mx.is_available(mx.gpu):
        sys.exit("no GPU: MLX has none on this machine")
    mx.set_default_device(mx.gpu)
    copy = product.gpu()["copy_bytes_per_second"]
    print(f"{product.gpu()}, MLX {mx.__version__}, {torch_programs.about()}")
    print(f"{chosen.rounds} interleaved rounds, {CALLS} calls each; microseconds, pipelined | alone\n")
    head = "".join(f"{key.replace('torch.compile', 'torch'):>9.9}" for key in COLUMNS)
    print(f"{'':43} {head} |{head} | x best  copy kernels")
    rows = []
    for row in all_rows(chosen):
        rows.append(row)
        print(line(row, copy), flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps({"copy": copy, "rows": rows}))
        mx.clear_cache()
    print()
    for text, reached in bars(rows, copy):
        print(f"{'pass' if reached else 'MISS'}  {text}")
    sys.exit(0 if all(row["correct"] for row in rows) else 1)


if __name__ == "__main__":
    main()
