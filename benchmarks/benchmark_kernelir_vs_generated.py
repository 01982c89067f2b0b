"""One contract, three ways to run it: the KernelIR reference executor, KernelIR raised to MLX operations, and the kernel
generated from it. The first says what is right, the second is the fallback, the third is what runs.

Programs of one region whose inputs have different sizes, so that each buffer of the contract has one argument.
"""

import dataclasses
import re
import sys

import accuracy
import harness
import product
import report
import timing
from workloads import WORKLOADS

NAMES = ["softmax", "rms_norm", "gelu_tanh", "mean_var", "log_softmax"]
BUFFER = re.compile(r"^\s*in %\S+: \w+\[([^\]]*)\]", re.MULTILINE)
AXIS = re.compile(r"([a-z]\w*)=\??(\d+)")


def buffer_shapes(text):
    """Shapes of the input buffers of a KernelIR text; a dynamic dimension is written as its axis."""
    axes_line = next(line for line in text.splitlines() if line.strip().startswith("axes "))
    sizes = {name: int(size) for name, size in AXIS.findall(axes_line)}
    dimensions = [[d.strip() for d in found.split(",") if d.strip()] for found in BUFFER.findall(text)]
    return [[sizes[d[1:]] if d.startswith("?") else int(d) for d in buffer] for buffer in dimensions]


def in_abi_order(text, arguments):
    """Each buffer gets the argument with as many elements."""
    by_size = {argument.size: argument for argument in arguments}
    inputs = []
    for shape in buffer_shapes(text):
        size = 1
        for dimension in shape:
            size *= dimension
        inputs.append(by_size[size].reshape(shape))
    return inputs


def ordered_like(outputs, results):
    """A kernel's outputs, flat, in the order and shape of the program's results."""
    results = accuracy.leaves(results)
    return [output.reshape(result.shape) for output, result in zip(outputs, results, strict=True)]


def measure(workload, size, dtype, chosen):
    arguments = workload.make_args(size, harness.DTYPES[dtype])
    fast = product.compile(workload.function)
    results = fast(*arguments)
    texts = product.kernel_texts(fast)
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
    return result


def row(result):
    head = f"{result.name:18} {result.size[0]:>5}x{result.size[1]:<5} {result.dtype:4}"
    if not result.times:
        return f"{head} WRONG: {result.accuracy.failure}"
    reference, mlx, generated = (result.times[name].median for name in ("exact", "mlx", "generated"))
    return (
        f"{head} {reference * 1e3:10.2f} {mlx * 1e3:9.3f} {generated * 1e3:9.3f} {reference / generated:9.0f}"
        f" {mlx / generated:7.1f} {result.accuracy.against_oracle:6.1f} {result.accuracy.eager_against_oracle:6.1f}"
    )


def main():
    chosen = harness.options(__doc__, sizes=["256x1024"], dtypes=["f32", "bf16"], iterations=3)
    about = harness.machine.describe()
    print(f"KernelIR against generated\n{harness.machine.line(about)}\nmedian ms; errors in units in the last place\n")
    print(f"{'':35} {'reference':>10} {'MLX':>9} {'generated':>9} {'/reference':>10} {'/MLX':>6}  error MLX's")
    results = []
    for name in NAMES:
        for size in chosen.sizes:
            for dtype in chosen.dtype:
                results.append(measure(WORKLOADS[name], size, dtype, chosen))
                print(row(results[-1]), flush=True)
    cases = [dataclasses.asdict(result) for result in results]
    report.write_json("KernelIR against generated", about, [report.without_nan(case) for case in cases], chosen)
    sys.exit(0 if all(result.accuracy.correct for result in results) else 1)


if __name__ == "__main__":
    main()
