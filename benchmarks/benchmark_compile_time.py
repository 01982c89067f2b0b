"""How long a program of 100 to 100,000 ops takes from its trace to KernelIR, without generating or measuring a kernel.

Per form of graph and size: milliseconds of each stage, and the exponent of growth from the size before (1 is linear). The
bar: tracing, canonicalizing and planning 1,000 ops in under 100 ms. The exit status is 1 when a form misses it, or when
10,000 ops and more grow faster than an exponent of 1.25.
"""

import argparse
import json
import math
import pathlib
import sys
import time

import harness  # noqa: F401  (the paths)
import machine
import mlx.core as mx
import product
from graph_forms import FORMS

STAGES = ("capture", "canonicalize", "attention", "fuse", "lower", "link")
PLANNING = STAGES[:4]
BAR_OPS, BAR_SECONDS = 1000, 0.100
STEEPEST = 1.25  # of sizes that are to grow linearly; hash tables outgrowing the caches cost a little
LINEAR_FROM = 10_000


def measure(form, ops, rounds):
    """The round that was fastest in all; the trace runs Python, so its first round also warms it."""
    function, arguments = FORMS[form](ops)
    mx.eval(arguments)
    best = None
    for _ in range(rounds):
        planned = product.plan_only(function, arguments)
        planned["total"] = sum(planned["seconds"].values())
        if best is None or planned["total"] < best["total"]:
            best = planned
    best["planning"] = sum(best["seconds"][stage] for stage in PLANNING)
    return best


def exponent(before, after):
    """Of the growth of the whole with the ops there really are."""
    if before is None:
        return math.nan
    return math.log(after["total"] / before["total"]) / math.log(after["captured_ops"] / before["captured_ops"])


def row(form, measured, growth):
    cells = " ".join(f"{measured['seconds'][stage] * 1e3:12.2f}" for stage in STAGES)
    grown = "" if math.isnan(growth) else f"{growth:6.2f}"
    sizes = f"{measured['captured_ops']:7} {measured['canonical_ops']:7} {measured['regions']:7}"
    return f"{form:11} {sizes} {cells} {measured['total'] * 1e3:10.2f} {grown:>6}"


def run_form(form, chosen):
    cases, before = [], None
    for ops in sorted(chosen.sizes):
        if before is not None and before["total"] * ops / before["captured_ops"] > chosen.limit:
            print(f"{form:11} {ops} ops: left out, the size before took {before['total']:.1f} s (--limit)")
            break
        measured = measure(form, ops, 3 if ops <= 10_000 else 1)
        growth = exponent(before, measured)
        print(row(form, measured, growth), flush=True)
        cases.append({"form": form, "wanted_ops": ops, "exponent": None if math.isnan(growth) else growth, **measured})
        before = measured
    return cases


def misses(cases, sizes):
    found = []
    for case in cases:
        name = f"{case['form']} of {case['wanted_ops']} ops"
        if case["wanted_ops"] == BAR_OPS and case["planning"] > BAR_SECONDS:
            found.append(f"{name}: planned in {case['planning'] * 1e3:.0f} ms, bar {BAR_SECONDS * 1e3:.0f} ms")
        if case["wanted_ops"] >= LINEAR_FROM and case["exponent"] and case["exponent"] > STEEPEST:
            found.append(f"{name}: grows with exponent {case['exponent']:.2f}, at most {STEEPEST}")
    done = {(case["form"], case["wanted_ops"]) for case in cases}
    forms = {case["form"] for case in cases}
    found += [f"{form} of {ops} ops: not measured" for form in forms for ops in sizes if (form, ops) not in done]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 1000, 10_000, 100_000], metavar="OPS")
    parser.add_argument("--forms", nargs="+", choices=list(FORMS), default=list(FORMS))
    parser.add_argument("--limit", type=float, default=60, help="seconds; a size expected to take longer is left out")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    chosen = parser.parse_args()
    mx.set_default_device(mx.cpu)
    start = time.perf_counter()
    print(machine.line(machine.describe()), "\n")
    print(f"{'form':11} {'ops':>7} {'canonic':>7} {'regions':>7}", end=" ")
    print(" ".join(f"{stage + ' ms':>12}" for stage in STAGES), f"{'total ms':>10} {'growth':>6}")
    cases = [case for form in chosen.forms for case in run_form(form, chosen)]
    missed = misses(cases, chosen.sizes)
    print()
    for case in cases:
        if case["wanted_ops"] == BAR_OPS:
            reached = case["planning"] <= BAR_SECONDS
            print(f"{'pass' if reached else 'MISS'}  {case['form']}: {BAR_OPS} ops traced, canonicalized and planned in "
                  f"{case['planning'] * 1e3:.1f} ms, bar {BAR_SECONDS * 1e3:.0f} ms")
    for text in missed:
        print(f"MISS  {text}")
    print(f"{len(cases)} cases in {time.perf_counter() - start:.0f} s, {len(missed)} missed")
    if chosen.json:
        document = {"benchmark": "Compile time", "machine": machine.describe(), "cases": cases}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
