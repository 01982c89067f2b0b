"""Kernels written by a language model, from recorded answers: how many are right, how fast they are, what proving costs.

For every region of benchmarks/recorded.py the recorded drafts go through the whole loop: check, compile, gate, repair,
and timing beside MLX and the built-in schedules. Shown are the share of variants that is admitted at once, after repair
and never; fast_1, the share at least as fast as the best built-in schedule (of all variants, as whoever asks counts);
the share at least 1.2 times as fast; and the seconds each stage takes. Then the drafts of tests/cheats that the check rejects go the same way. Bars: a CPU
candidate costs the gate at most 2 s, one that the check rejects at most 5 ms; the exit status is 1 above them. The share that is admitted is the model's
merit, and has no bar.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import sys

os.environ.setdefault("AUTOPERFECT_CACHE", "off")  # winners of earlier runs would compete as well

import harness  # noqa: E402
import machine  # noqa: E402
import mlx.core as mx  # noqa: E402
import product  # noqa: E402
import recorded  # noqa: E402

GATE_BAR, CHECK_BAR = 2.0, 5e-3
STAGES = ("ask", "check", "compile", "gate")


def lives(attempts):
    """{variant: its attempts in order}, of those that a model wrote."""
    found = collections.defaultdict(list)
    for attempt in attempts:
        if attempt["round"] > 0:
            found[attempt["variant"]].append(attempt)
    return {variant: sorted(life, key=lambda a: a["repair"]) for variant, life in sorted(found.items())}


def end_of(life):
    """(admitted at once | after repair | never, the last attempt)."""
    last = life[-1]
    if not last["admitted"]:
        return "never", last
    return ("at once" if last["repair"] == 0 else "after repair"), last


def ratio_of(attempt):
    """How many times as fast as the best built-in schedule beside it; 0: not timed."""
    return attempt["built_in_seconds"] / attempt["seconds"] if attempt["seconds"] and attempt["built_in_seconds"] else 0.0


def show(name, language, row):
    variants = lives(row["attempts"])
    cells = []
    for variant, life in variants.items():
        end, last = end_of(life)
        ratio = ratio_of(last)
        cells.append(f"{variant}: {end}" + (f" x{ratio:.2f}" if ratio else f" ({last['stage']})"))
    winner = "MLX" if row["use_mlx"] else row["provenance"].partition(":")[0]
    print(f"{name:16} {language:4} {winner:9} {'   '.join(cells)}", flush=True)
    return [life for life in variants.values()]


def shares(all_lives):
    ends = [end_of(life) for life in all_lives]
    ratios = [ratio_of(last) for end, last in ends if end != "never"]
    count = len(ends) or 1
    return {
        "variants": len(ends),
        **{end: sum(e == end for e, _ in ends) / count for end in ("at once", "after repair", "never")},
        "fast_1": sum(ratio >= 1 for ratio in ratios) / count,
        "fast_1.2": sum(ratio >= 1.2 for ratio in ratios) / count,
    }


def stage_seconds(all_lives):
    """{stage: (total, median of those that came to it, worst)}."""
    attempts = [attempt for life in all_lives for attempt in life]
    found = {}
    for stage in STAGES:
        seconds = [a["stages"][stage] for a in attempts if a["stages"][stage] > 0]
        found[stage] = (sum(seconds), statistics.median(seconds), max(seconds)) if seconds else (0.0, 0.0, 0.0)
    return found


def refused_cheats():
    """Attempts of the cheats that the check rejects."""
    cases = recorded.refused_by_the_check()
    rows = [product.tune_kernel(kernel, {"drafts": drafts, "seed": recorded.REQUEST["seed"]}) for kernel, drafts in cases]
    attempts = [attempt for row in rows for attempt in row["attempts"] if attempt["round"] > 0]
    admitted = [attempt for attempt in attempts if attempt["stage"] != "check"]
    assert len(attempts) == sum(len(drafts) for _, drafts in cases) and not admitted, admitted
    return attempts


def costs(all_lives, refused):
    """The gate's seconds for a CPU candidate, the median and the worst, and the check's for one it rejects, the worst."""
    attempts = [attempt for life in all_lives for attempt in life]
    gated = [a["stages"]["gate"] for a in attempts if a["language"] == "cpu" and a["stages"]["gate"] > 0]
    refused = [a["stages"]["check"] for a in [*refused, *attempts] if a["stage"] == "check"]
    return statistics.median(gated or [0.0]), max(gated or [0.0]), max(refused)


def summarize(found, all_lives):
    print(f"\n{found['variants']} variants: {found['at once']:.0%} admitted at once, {found['after repair']:.0%} after repair,"
          f" {found['never']:.0%} never")
    print(f"fast_1 {found['fast_1']:.0%}, at least 1.2 times as fast as the built-in winner {found['fast_1.2']:.0%}")
    for stage, (total, middle, worst) in stage_seconds(all_lives).items():
        print(f"  {stage:8} {total:8.2f} s in all, median {middle * 1e3:9.2f} ms, worst {worst * 1e3:9.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="REGION")
    parser.add_argument("--answers", type=pathlib.Path, default=recorded.ANSWERS, help="a folder of recordings")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    chosen = parser.parse_args()
    mx.set_default_device(mx.cpu)
    print(f"{machine.line(machine.describe())}\nanswers by {', '.join(recorded.models(chosen.answers))}\n")
    print(f"{'region':16} {'':4} {'winner':9} variant: admitted, times as fast as the best built-in schedule")
    all_lives, cases = [], []
    for language, names in recorded.LANGUAGES.items():
        for name in names:
            if chosen.only and name not in chosen.only:
                continue
            row = product.tune_kernel(recorded.kernel(name), recorded.request(language, f"replay:{chosen.answers}"))
            all_lives += show(name, language, row)
            cases.append({"name": name, "language": language, **row})
    found = shares(all_lives)
    summarize(found, all_lives)
    refused = refused_cheats()
    gate_cost, worst_gate, check_cost = costs(all_lives, refused)
    reached = gate_cost <= GATE_BAR and check_cost <= CHECK_BAR
    print(f"{'pass' if gate_cost <= GATE_BAR else 'MISS'}  the gate takes {gate_cost:.2f} s a CPU candidate (median; at worst"
          f" {worst_gate:.2f} s), bar {GATE_BAR:g} s")
    print(f"{'pass' if check_cost <= CHECK_BAR else 'MISS'}  of {len(refused)} cheats and the candidates above that the check rejects the"
          f" dearest costs {check_cost * 1e3:.2f} ms, bar {CHECK_BAR * 1e3:g} ms")
    if chosen.json:
        document = {"benchmark": "Model", "machine": machine.describe(), "shares": found, "stages": stage_seconds(all_lives),
                    "gate_seconds": gate_cost, "worst_gate_seconds": worst_gate, "check_seconds": check_cost, "cases": cases}  # fmt: skip
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
