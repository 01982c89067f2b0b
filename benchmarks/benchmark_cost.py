"""Does the cost model put the ways to run a program in the right order?

For the programs of workloads/programs.py and the demo's: the alternatives (MLX's own ops, the plan, every legal
region, nothing computed twice, smaller regions), what the model predicts for each and what each takes, and Spearman's correlation of the two
orders. Alternatives whose plans are the same are one; alternatives whose times differ by less than their own spread are
tied. The bar: a mean of at least 0.8 over the programs that have an order; the exit status is 1 below it.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import harness  # noqa: F401  (the paths)
import machine
import mlx.core as mx
import product
import timing
from workloads import WORKLOADS
from workloads.programs import PROGRAMS

BAR = 0.8
DEMO = ("layer_norm", "softmax", "gelu_tanh", "swiglu", "cross_entropy", "training_step")
DEMO_SIZE = (1024, 4096)
ALTERNATIVES = {
    "mlx": {"kernels": False},
    "plan": {},
    "ungated": {"gate_by_cost": False},
    "stored": {"recompute": False},
    "ops<=8": {"most_ops": 8, "gate_by_cost": False},
    "ops<=3": {"most_ops": 3, "gate_by_cost": False},
    "ops<=1": {"most_ops": 1, "gate_by_cost": False},
}


def programs(chosen):
    cases = {name: (program.function, program.make_args) for name, program in PROGRAMS.items()}
    for name in DEMO:
        workload = WORKLOADS[name]
        cases[f"demo {name}"] = (workload.function, lambda workload=workload: workload.make_args(DEMO_SIZE))
    unknown = set(chosen.only or ()) - set(cases)
    if unknown:
        sys.exit(f"--only: {', '.join(sorted(unknown))}: not among {', '.join(cases)}")
    return {name: case for name, case in cases.items() if not chosen.only or name in chosen.only}


def flatten(arguments):
    """The arrays of a tree of arguments, and what makes the tree of them again."""
    leaves, tree = [], []

    def mark(value):
        if isinstance(value, dict):
            return {key: mark(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(mark(item) for item in value)
        leaves.append(value)
        return len(leaves) - 1

    def fill(marked, arrays):
        if isinstance(marked, dict):
            return {key: fill(item, arrays) for key, item in marked.items()}
        if isinstance(marked, (list, tuple)):
            return type(marked)(fill(item, arrays) for item in marked)
        return arrays[marked]

    tree = mark(list(arguments))
    return leaves, lambda arrays: fill(tree, arrays)


def ranks(values, spreads):
    """Of each value, from 1; values closer than their spreads share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result, start = [0.0] * len(values), 0
    for place in range(1, len(order) + 1):
        tied = place < len(order) and values[order[place]] - values[order[place - 1]] <= (
            spreads[order[place]] + spreads[order[place - 1]]
        )
        if tied:
            continue
        for index in order[start:place]:
            result[index] = (start + 1 + place) / 2
        start = place
    return result


def correlation(a, b):
    """Pearson's of two lists of ranks, which is Spearman's of what they rank; NaN when either has no order."""
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    deviations = [(x - mean_a, y - mean_b) for x, y in zip(a, b)]
    of_a, of_b = sum(x * x for x, _ in deviations), sum(y * y for _, y in deviations)
    return sum(x * y for x, y in deviations) / math.sqrt(of_a * of_b) if of_a and of_b else math.nan


def build(function, arguments):
    """{alternative: planned function}, each plan once, under the name of the first alternative that has it."""
    leaves, rebuild = flatten(arguments)
    planned, seen = {}, set()
    for name, options in ALTERNATIVES.items():
        candidate = product.plan(lambda *arrays: function(*rebuild(arrays)), leaves, **options)
        runs = candidate.plan if candidate.kernels else "mlx"
        if runs not in seen:
            seen.add(runs)
            planned[name] = candidate
    return leaves, planned


def measure(name, function, make_args, chosen):
    leaves, planned = build(function, make_args())
    if len(planned) < 2:
        print(f"{name}: one plan only, nothing to compare", flush=True)
        return None
    contenders = {key: (lambda run: lambda *arrays: run(list(arrays)))(run) for key, run in planned.items()}
    times = timing.interleave(contenders, leaves, 1, chosen.iterations)
    predicted = [run.predicted_seconds for run in planned.values()]
    measured = [times[key].median for key in planned]
    spreads = [(times[key].high - times[key].low) / 2 for key in planned]
    # A prediction has no spread, but one this close says "the same".
    agreement = correlation(ranks(predicted, [0.01 * seconds for seconds in predicted]), ranks(measured, spreads))
    rows = [
        {"alternative": key, "kernels": run.kernels, "predicted": p, "measured": m, "spread": s}
        for (key, run), p, m, s in zip(planned.items(), predicted, measured, spreads)
    ]
    text = "  ".join(f"{row['alternative']}: {milliseconds(row['predicted'])} -> {milliseconds(row['measured'])}" for row in rows)
    shown = "no order" if math.isnan(agreement) else f"{agreement:+.2f}"
    print(f"{name:26} {shown:>8}  {text}", flush=True)
    live = planned[max(planned, key=lambda key: planned[key].kernels)].live_bytes
    return {"name": name, "correlation": None if math.isnan(agreement) else agreement, "alternatives": rows, "live_bytes": live}


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}"


def pooled(cases):
    """Over all alternatives of all programs: predicted against measured seconds."""
    rows = [row for case in cases for row in case["alternatives"]]
    lists = [[row[key] for row in rows] for key in ("predicted", "measured")]
    return correlation(*(ranks(values, [0.0] * len(values)) for values in lists))


def summarize(cases):
    found = [case["correlation"] for case in cases if case["correlation"] is not None]
    if not found:
        return math.nan
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
    mean = statistics.fmean(found)
    ratios = [row["predicted"] / row["measured"] for case in cases for row in case["alternatives"]]
    print(f"\n{len(found)} programs with an order, {len(cases) - len(found)} without")
    print(f"rank correlation: mean {mean:.2f}, median {middle:.2f}, quartiles {low:.2f} to {high:.2f}, worst {min(found):.2f}")
    print(f"over all {len(ratios)} alternatives together: {pooled(cases):.2f}")
    print(f"predicted / measured: geometric mean {statistics.geometric_mean(ratios):.2f}, "
          f"{min(ratios):.2f} to {max(ratios):.2f}")
    return mean


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="PROGRAM")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    chosen = parser.parse_args()
    mx.set_default_device(mx.cpu)
    print(machine.line(machine.describe()))
    print("milliseconds, predicted -> measured\n")
    results = (measure(name, *case, chosen) for name, case in programs(chosen).items())
    cases = [case for case in results if case is not None]
    mean = summarize(cases)
    if chosen.json:
        document = {"benchmark": "Cost", "machine": machine.describe(), "mean": mean, "cases": cases}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    reached = mean >= BAR
    print(f"{'pass' if reached else 'MISS'}  mean rank correlation {mean:.2f}, bar {BAR}")
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
