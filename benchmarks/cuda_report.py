"""What a run of benchmark_cuda.py says: lines while it runs, the bars, and from its JSON file Markdown tables and a chart."""

import math
import statistics
import sys

MLX_ONLY = ("eager", "mx.compile")
EVERYBODY = (*MLX_ONLY, "built in", "torch.compile", "triton")
COLUMNS = (*EVERYBODY, "ours")
SHORT = {"torch.compile": "torch", "mx.compile": "compile"}
SAME = 0.97  # as fast, within the noise of a run
DTYPES = ("f32", "bf16", "f16")


def label(row):
    return f"{row['name']} {row['dtype']} {'x'.join(map(str, row['size']))}".strip()


def wall(row, name, mode="pipelined"):
    return row["seconds"][name][mode][0]


def cold(row, name="ours"):
    """Device time with nothing of the arguments in L2; arguments beyond L2 are never there. None: not measured."""
    times = row["seconds"][name]
    return times.get("device_cold", times.get("device"))


def times_of(row, take, names=EVERYBODY):
    times = {name: take(row, name) for name in names if name in row["seconds"]}
    return {name: seconds for name, seconds in times.items() if seconds is not None}


def ratio(row, names=EVERYBODY, take=wall):
    """How many times faster than the best of the others."""
    return min(times_of(row, take, names).values(), default=math.nan) / (take(row, "ours") or math.nan)


def alone(row, name):
    return wall(row, name, "alone")


def share(row, copy, take=cold):
    return row["bytes"] / (take(row, "ours") or math.nan) / copy


def mean_ratio(rows, names=EVERYBODY, take=wall):
    """Of the rows that have both times; a slope may be too short to be told from nothing."""
    ratios = [value for row in rows if (value := ratio(row, names, take)) > 0]
    return statistics.geometric_mean(ratios) if ratios else math.nan


# --- while it runs ---------------------------------------------------------------------------------------------------

_CELLS = "".join(f"{SHORT.get(name, name):>9}" for name in COLUMNS)
HEAD = (
    "microseconds a call: pipelined | cold device time; then ours against the best of the others and its share of the copy,\n"
    f"pipelined | device; kernels of ours and regions\n\n{'':42}{_CELLS} |{_CELLS} |"
)


def line(row, copy):
    text = f"{label(row):42}"
    if not row["correct"]:
        return f"{text} WRONG: {row.get('why') or format(row['apart'], '.3g') + ' apart'}"
    for take in (wall, cold):
        times = times_of(row, take, COLUMNS)
        text += "".join(f"{times[name] * 1e6:9.1f}" if name in times else f"{'':9}" for name in COLUMNS) + " |"
    text += f" {ratio(row):5.2f} {share(row, copy, wall):5.0%} |"
    text += f" {ratio(row, take=cold):5.2f} {share(row, copy):5.0%} |" if cold(row) else f"{'':13}|"
    text += f" {row['kernels']} of {len(row['regions'])}" + (f", runs as {row['way']}" if row.get("way") else "")
    return text + "".join(f"\n    {name} left out: {why}" for name, why in row.get("left_out", {}).items())


def decode_line(row):
    if not row["correct"]:
        return f"decode, {row['name']}: WRONG: {row.get('why') or format(row['apart'], '.3g') + ' of the norm apart'}"
    rates = ", ".join(f"{name} {rate[0]:.0f}" for name, rate in row["tokens_per_second"].items())
    way = f", runs as {row['way']}" if row.get("way") else ""
    count = f"{row['kernels']} kernels of ours in {row['regions']} regions"
    return f"decode, {row['name']}: tokens a second: {rates}; {count}{way}"


# --- bars ------------------------------------------------------------------------------------------------------------


def timed(document, *groups):
    return [row for row in document["rows"] if row["correct"] and row["group"] in groups]


def bars(document):
    """(text, reached) of each bar."""
    copy, large, hot = document["copy"], timed(document, "large"), timed(document, "hot")
    for row in large:
        on_device, piped = share(row, copy), share(row, copy, wall)
        text = f"{label(row)}: {on_device:.0%} of the copy on the device ({piped:.0%} pipelined), bar 90%"
        yield text, on_device >= 0.9
    for name, take in (("pipelined", wall), ("on the device", cold)):
        if large:
            mean = mean_ratio(large, take=take)
            yield f"large programs, {name}: {mean:.2f} x the best of the others, bar 1.0", mean >= 1.0
    for name, take in (("pipelined", wall), ("alone", alone)):
        if hot:
            mean = mean_ratio(hot, MLX_ONLY, take)
            yield f"hot functions, {name}: {mean:.2f} x the better of eager and mx.compile, bar 1.5", mean >= 1.5
    for row in hot:
        times = ratio(row, MLX_ONLY)
        yield f"{row['name']}: {times:.2f} x the better of eager and mx.compile, bar 1", times >= SAME
    for row in timed(document, "small"):
        times = alone(row, "mx.compile") / alone(row, "ours")
        yield f"{label(row)}, one call alone: {times:.2f} x mx.compile, bar 1", times >= SAME
    for row in document["rows"]:
        if not row["correct"]:
            yield f"{label(row)}: wrong", False


# --- Markdown --------------------------------------------------------------------------------------------------------


def cell(row, name):
    """Pipelined, and the cold device time."""
    if name not in row["seconds"]:
        return ""
    on_device = cold(row, name)
    return f"{wall(row, name) * 1e6:.0f} / {f'{on_device * 1e6:.0f}' if on_device else '-'}"


def markdown_table(head, lines):
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in lines)])


def throughput_table(rows, copy, with_size):
    head = ["", *EVERYBODY, "ours", "x best", "of the copy"]
    lines = []
    for row in rows:
        name = label(row) if with_size else row["name"]
        cells = [cell(row, one) for one in COLUMNS]
        ratios = f"{ratio(row):.2f} / {ratio(row, take=cold):.2f}"
        shares = f"{share(row, copy, wall):.0%} / {share(row, copy):.0%}"
        lines.append([name, *cells, ratios, shares])
    return markdown_table(head, lines)


def hot_table(rows):
    head = ["", "eager", "mx.compile", "ours", "x best", "alone: eager", "mx.compile", "ours", "x best", "kernels"]
    lines = []
    for row in rows:
        cells = [row["name"]]
        for take in (wall, alone):
            cells += [f"{take(row, name) * 1e6:.0f}" for name in (*MLX_ONLY, "ours")]
            cells.append(f"{ratio(row, MLX_ONLY, take):.2f}")
        lines.append([*cells, str(row["kernels"])])
    return markdown_table(head, lines)


def warm(row, name):
    return row["seconds"][name].get("device")


def l2_table(rows):
    """Device time with arguments in L2 as far as they fit, and from memory."""
    head = ["", "ours, warm", "ours, cold", "best of the others, warm", "cold"]
    lines = []
    for row in rows:
        best = [min(times_of(row, take).values(), default=math.nan) for take in (warm, cold)]
        values = [warm(row, "ours"), cold(row), *best]
        lines.append([label(row), *(f"{value * 1e6:.1f}" for value in values)])
    return markdown_table(head, lines)


def decode_table(row):
    lines = [
        [name, f"{rate[0]:.0f}", f"{rate[1]:.0f} to {rate[2]:.0f}", str(row["same_tokens"][name])]
        for name, rate in row["tokens_per_second"].items()
    ]
    head = [row["name"], "tokens/s", "spread", f"of {row['tokens']} tokens the same as eager's"]
    return markdown_table(head, lines)


def sections(document):
    """(title, text) of each table there is something for."""
    copy = document["copy"]
    for dtype in DTYPES:
        rows = [row for row in timed(document, "large") if row["dtype"] == dtype]
        if rows:
            yield f"Large, {dtype}: pipelined / device", throughput_table(rows, copy, True)
    titles = {"softmax": "Softmax of rows of 128 i", "vocabulary": "Vocabularies, columns and scans", "small": "Small"}
    for group, title in (titles | {"whole": "Whole programs"}).items():
        if rows := timed(document, group):
            yield f"{title}: pipelined / device", throughput_table(rows, copy, True)
    if rows := timed(document, "hot"):
        yield "Hot functions of real programs", hot_table(rows)
    if rows := [row for row in timed(document, "large", "softmax") if "device_cold" in row["seconds"]["ours"]]:
        yield "L2 warm and cold, device time", l2_table(rows)
    for row in timed(document, "decode"):
        yield "Decoding", decode_table(row)


def machine_text(document):
    gpu = document["gpu"]
    text = f"{gpu['name']}, copy {document['copy'] / 1e12:.2f} TB/s; {document['versions']}; {document['processor']}, "
    text += f"{document['threads']} threads. {document['calls']} calls an evaluation, {document['rounds']} interleaved rounds."
    if "fill_seconds" in document:
        text += f" Compiling and tuning: {document['fill_seconds']:.0f} s; all: {document.get('seconds', 0):.0f} s."
    return text


def markdown(document):
    parts = [machine_text(document)]
    parts += [f"### {title}\n\n{text}" for title, text in sections(document)]
    results = list(bars(document))
    missed = [text for text, reached in results if not reached]
    parts.append(f"### Bars\n\n{len(results) - len(missed)} of {len(results)} reached. Missed:\n")
    parts.append("\n".join(f"- {text}" for text in missed) or "- none")
    if document["not_measured"]:
        parts.append(f"Not measured, for lack of time: {', '.join(document['not_measured'])}.")
    return "\n\n".join(parts)


# --- the chart -------------------------------------------------------------------------------------------------------


def plot(document, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("--plot needs matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "autoperfect"  # the same file each time
    import matplotlib.pyplot as pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 8), layout="constrained")
    plot_copy(left, document)
    plot_hot(right, timed(document, "hot"))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def plot_copy(axes, document):
    """Shares of the copy on the device, ours and the best of the others."""
    rows = timed(document, "large")
    names = sorted({row["name"] for row in rows}, key=[row["name"] for row in rows].index)
    styles = {"f32": ("o", 0.2), "bf16": ("s", 0.0), "f16": ("^", -0.2)}
    for dtype, (mark, offset) in styles.items():
        chosen = [row for row in rows if row["dtype"] == dtype]
        places = [names.index(row["name"]) - offset for row in chosen]
        best = [row["bytes"] / min(times_of(row, cold).values()) / document["copy"] for row in chosen]
        axes.plot(best, places, mark, color="0.6", label=f"best of the others, {dtype}")
        axes.plot([share(row, document["copy"]) for row in chosen], places, mark, label=f"ours, {dtype}")
    axes.axvline(0.9, color="black", linewidth=1, linestyle=":")
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="share of a copy's speed, device time", title="Large programs")
    axes.invert_yaxis()
    axes.legend(fontsize="small")


def plot_hot(axes, rows):
    """Times faster than the better of eager and mx.compile."""
    rows = sorted(rows, key=lambda row: ratio(row, MLX_ONLY))
    for take, name, offset in ((wall, "pipelined", -0.2), (alone, "alone", 0.2)):
        places = [place + offset for place in range(len(rows))]
        axes.barh(places, [ratio(row, MLX_ONLY, take) for row in rows], height=0.38, label=name)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(yticks=range(len(rows)), yticklabels=[row["name"] for row in rows], title="Hot functions of real programs")
    axes.set_xlabel("times faster than the better of eager and mx.compile")
    axes.legend(fontsize="small")
