"""What a benchmark says: the table, the JSON file, the chart."""

import dataclasses
import json
import math
import statistics
import sys

import accuracy

CONTENDERS = ("eager", "mx.compile", "built-in", "autoperfect")


@dataclasses.dataclass
class Result:
    name: str
    size: tuple
    dtype: str
    accuracy: accuracy.Accuracy
    times: dict = dataclasses.field(default_factory=dict)  # contender -> Timing; empty for a wrong result
    bytes_moved: int = 0
    share: float = math.nan  # of the copy limit
    note: str = ""

    def ratio(self, contender):
        return self.times[contender].median / self.times["autoperfect"].median

    @property
    def error(self):
        against_oracle = self.accuracy.against_oracle
        return self.accuracy.against_eager if math.isnan(against_oracle) else against_oracle


HEAD = (
    f"{'program':18} {'size':>11} {'type':4} {'eager':>9} {'compile':>9} {'built-in':>9} {'ours':>9} {'':>5}"
    f" {'/eager':>7} {'/compile':>8} {'copy':>5} {'error':>6}"
)
LEGEND = """
eager, compile, built-in (MLX's own operation), ours: median ms of a call, ± half the distance of the quartiles of ours;
/eager, /compile: how many times faster; copy: bytes read and written, as a share of the machine's own copy speed in
main memory (small arrays stay in the processor's caches, and may be above it);
error: units in the last place, against the double reference where there is one, else against eager MLX."""


def milliseconds(timing):
    return "" if timing is None else f"{timing.median * 1e3:.3f}"


def row(result):
    size = f"{result.size[0]}x{result.size[1]}"
    head = f"{result.name:18} {size:>11} {result.dtype:4}"
    if not result.times:
        return f"{head} WRONG: {result.accuracy.failure}"
    cells = " ".join(f"{milliseconds(result.times.get(name)):>9}" for name in CONTENDERS)
    spread = f"±{result.times['autoperfect'].spread:.0%}"
    ratios = f"{result.ratio('eager'):7.2f} {result.ratio('mx.compile'):8.2f}"
    return f"{head} {cells} {spread:>5} {ratios} {result.share:5.0%} {result.error:6.1f}  {result.note}".rstrip()


def as_json(result):
    fields = dataclasses.asdict(result)
    fields["ratios"] = {name: result.ratio(name) for name in result.times if name != "autoperfect"}
    return {key: without_nan(value) for key, value in fields.items()}


def without_nan(value):
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(title, machine, results, chosen):
    write_json(title, machine, list(map(as_json, results)), chosen)
    if chosen.plot:
        plot(title, results, chosen.plot)


def write_json(title, machine, cases, chosen):
    if chosen.json:
        settings = {"warmup": chosen.warmup, "iterations": chosen.iterations}
        document = {"benchmark": title, "machine": machine, "settings": settings, "cases": cases}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")


def problems(document):
    """What is wrong with a JSON document that a benchmark wrote; used by run_all.py and the tests."""
    found = [f"no {key}" for key in ("benchmark", "machine", "settings", "cases") if not document.get(key)]
    for case in document.get("cases", []):
        missing = [key for key in ("name", "size", "dtype", "accuracy", "times") if key not in case]
        found += [f"{case.get('name', 'a case')}: no {key}" for key in missing]
        if not missing and bool(case["times"]) != case["accuracy"]["correct"]:
            found.append(f"{case['name']}: a time without a right result, or the reverse")
    return found


def plot(title, results, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("--plot needs matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    timed = [result for result in results if result.times]
    labels = [f"{r.name} {r.size[0]}x{r.size[1]} {r.dtype}" for r in timed]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.45 * len(timed)), layout="constrained")
    for offset, contender in ((-0.2, "eager"), (0.2, "mx.compile")):
        places = [place + offset for place in range(len(timed))]
        axes.barh(places, [r.ratio(contender) for r in timed], height=0.38, label=f"against {contender}")
    axes.axvline(1, color="black", linewidth=1)
    axes.set(yticks=range(len(timed)), yticklabels=labels, xlabel="times faster", title=title)
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(path)


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else math.nan
