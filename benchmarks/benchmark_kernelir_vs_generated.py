"""One contract, three ways to run it: the KernelIR reference executor, KernelIR raised to MLX operations, and the kernel
generated from it. The first says what is right, the second is the fallback, the third is what runs. For some contracts
there is a fourth: kernels that a language model wrote, from recorded answers, admitted by the same gate.

For programs that are one region. A buffer of the contract is named after its argument: %x0, %x1.
"""

import dataclasses
import os
import re
import sys

os.environ.setdefault("AUTOPERFECT_CACHE", "off")  # kernels written for earlier runs would compete as well

import accuracy
import harness
import product
import recorded
import report
import timing

NAMES = ["layer_norm", "softmax", "rms_norm", "gelu_tanh", "swiglu", "mean_var"]
WRITTEN = ["softmax", "layer_norm", "rms_residual", "column_sums"]  # of benchmarks/recorded.py, all in language cpu
BUFFER = re.compile(r"^ *in %x(\d+): \w+\[(.*)\]", re.MULTILINE)


def in_abi_order(text, arguments):
    """The arguments, each in the shape of its buffer; a dynamic dimension, `?i`, takes what is left."""
    inputs = []
    for index, dimensions in BUFFER.findall(text):
        shape = [-1 if d.strip().startswith("?") else int(d) for d in dimensions.split(",") if d.strip()]
        inputs.append(arguments[int(index)].reshape(shape))
    return inputs


def ordered_like(outputs, results):
    """A kernel's outputs, flat, in the order and shape of the program's results."""
    results = accuracy.leaves(results)
    return [output.reshape(result.shape) for output, result in zip(outputs, results, strict=True)]


def measure(workload, size, dtype, chosen):
    arguments = workload.make_args(size, harness.DTYPES[dtype])
    fast = product.compile(workload.function)
    results = fast(*arguments)
    texts, outcomes = product.kernel_texts(fast), product.outcomes(fast)
    if len(texts) != 1:
        return report.Result(workload.name, size, dtype, accuracy.Accuracy(False, 0, failure=f"{len(texts)} regions"))
    inputs = in_abi_order(texts[0], arguments)
    runs = {how: lambda *a, how=how: product.run_kernel(texts[0], list(a), how) for how in ("exact", "mlx")}
    raised = ordered_like(runs["mlx"](*inputs), results)
    oracle = ordered_like(product.run_kernel(texts[0], inputs, "oracle"), results)
    verdict = accuracy.judge(accuracy.leaves(results), raised, oracle)
    result = report.Result(workload.name, size, dtype, verdict)
    if verdict.correct:
        generated = {"generated": lambda *_: fast(*arguments)}
        result.times = timing.interleave({**runs, **generated}, inputs, chosen.warmup, chosen.iterations)
        result.note = f"plain MLX: {outcomes[0].short_reason}" if outcomes[0].use_mlx else ""
    return result


def row(result):
    head = f"{result.name:18} {result.size[0]:>5}x{result.size[1]:<5} {result.dtype:4}"
    if not result.times:
        return f"{head} WRONG: {result.accuracy.failure}"
    reference, mlx, generated = (result.times[name].median for name in ("exact", "mlx", "generated"))
    cells = (
        f"{head} {reference * 1e3:10.2f} {mlx * 1e3:9.3f} {generated * 1e3:9.3f} {reference / generated:9.0f}"
        f" {mlx / generated:7.1f} {result.accuracy.against_oracle:6.1f} {result.accuracy.eager_against_oracle:6.1f}"
        f"  {result.note}"
    )
    return cells.rstrip()


def measure_written(name):
    """Medians in seconds: MLX's best, the best built-in schedule's, and the fastest admitted draft's."""
    row = product.tune_kernel(recorded.kernel(name), recorded.request("cpu"))
    admitted = [a for a in row["attempts"] if a["round"] > 0 and a["admitted"] and a["seconds"] > 0]
    drafts = len({a["variant"] for a in row["attempts"] if a["round"] > 0})
    if not admitted:
        return {"name": name, "drafts": drafts, "admitted": 0}
    best = min(admitted, key=lambda attempt: attempt["seconds"])
    mlx, generated, written = min(row["baselines"].values()), best["built_in_seconds"], best["seconds"]
    return {"name": name, "drafts": drafts, "admitted": len(admitted), "mlx": mlx, "generated": generated, "written": written}


def show_written():
    models = ", ".join(recorded.models())
    print(f"\nWritten by {models}, from recorded answers; median ms")
    print(f"{'':24} {'admitted':>10} {'MLX':>9} {'generated':>9} {'written':>9} {'/generated':>10} {'/MLX':>6}")
    rows = [measure_written(name) for name in WRITTEN]
    for row in rows:
        head = f"{row['name']:24} {row['admitted']:>4} of {row['drafts']:>2}"
        if row["admitted"]:
            times = " ".join(f"{row[key] * 1e3:9.3f}" for key in ("mlx", "generated", "written"))
            head += f" {times} {row['generated'] / row['written']:10.2f} {row['mlx'] / row['written']:6.1f}"
        print(head, flush=True)
    return rows


def main():
    chosen = harness.options(__doc__, sizes=["256x1024"], dtypes=["f32", "bf16"], iterations=3)
    about = harness.machine.describe()
    print(f"KernelIR against generated\n{harness.machine.line(about)}\nmedian ms; errors in units in the last place\n")
    print(f"{'':35} {'reference':>10} {'MLX':>9} {'generated':>9} {'/reference':>10} {'/MLX':>6}  error MLX's")
    results = []
    for workload in harness.selected(NAMES, chosen):
        for size in chosen.sizes:
            for dtype in chosen.dtype:
                results.append(measure(workload, size, dtype, chosen))
                print(row(results[-1]), flush=True)
    if not chosen.only:
        show_written()
    cases = [dataclasses.asdict(result) for result in results]
    report.write_json("KernelIR against generated", about, [report.without_nan(case) for case in cases], chosen)
    sys.exit(0 if all(result.accuracy.correct for result in results) else 1)


if __name__ == "__main__":
    main()
