"""The main job on real programs: what was fused, which kernels won, how right they are, and by how much they are
faster. Each program is checked against the double reference and eager MLX before it is timed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benchmarks"))

import compiler_runs  # noqa: E402
import harness  # noqa: E402
import machine  # noqa: E402
import mlx.core as mx  # noqa: E402
import product  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402
from workloads import WORKLOADS, Workload, mixed  # noqa: E402

ROUNDS, WARMUP = 5, 1


def block_workload():
    """A whole mlx.nn module, its parameters captured as any closure's are."""
    mx.random.seed(0)
    block = mixed.TransformerBlock(256, 4)

    def inputs(draw, rows, columns):
        return draw.normal(1, rows, columns), mixed.causal_mask(rows)

    return Workload("mlx.nn transformer block", block, inputs, "mixed")


def programs():
    """(title, workload, size)."""
    yield "layer norm", WORKLOADS["layer_norm"], (2048, 4096)
    yield "softmax", WORKLOADS["softmax"], (2048, 4096)
    yield "residual + RMS norm", WORKLOADS["residual_rms_norm"], (2048, 4096)
    yield "gelu", WORKLOADS["gelu_tanh"], (2048, 4096)
    yield "SwiGLU", WORKLOADS["swiglu"], (2048, 4096)
    yield "cross entropy, label smoothing", WORKLOADS["cross_entropy"], (512, 32000)
    yield "mlx.nn transformer block", block_workload(), (256, 256)


def describe(region):
    if region.use_mlx:
        return f"plain MLX: {region.reason}"
    origin = "from the cache" if region.from_cache else "new"
    return f"{region.provenance} ({origin}, worst {region.worst_ulp:.1f} units in the gate)"


def show(title, size, result, regions):
    print(f"\n{title}, {result.dtype} {size[0]}x{size[1]}")
    for region in regions:
        print(f"  {region.name + ' ' + region.kind:24} {describe(region)}")
    if not regions:
        print("  no region: plain MLX")
    right = result.accuracy
    if not right.correct:
        print(f"  WRONG: {right.failure}")
        return
    oracle = f"{right.against_oracle:.1f} units from the double reference (eager MLX: {right.eager_against_oracle:.1f}), "
    oracle = oracle if right.against_oracle == right.against_oracle else ""
    print(f"  {'error':24} {oracle}{right.against_eager:.1f} from eager MLX")
    times = ", ".join(f"{name} {report.milliseconds(value)} ms" for name, value in result.times.items())
    print(f"  {'time':24} {times} ±{result.times['autoperfect'].spread:.0%}")
    ratios = f"{result.ratio('eager'):.1f}x eager, {result.ratio('mx.compile'):.1f}x mx.compile"
    print(f"  {'':24} {ratios}, {result.share:.0%} of the copy limit")


def run_program(title, workload, size):
    fast = product.compile(workload.function)
    arguments, verdict = harness.check(workload, size, mx.float32, fast)
    result = report.Result(workload.name, size, "f32", verdict)
    if verdict.correct:
        contenders = harness.contenders(workload, fast)
        contenders.pop("built-in", None)
        result.times = timing.interleave(contenders, arguments, WARMUP, ROUNDS)
        result.bytes_moved = harness.bytes_moved(workload, arguments)
        result.share = result.bytes_moved / result.times["autoperfect"].median / product.copy_limit()
    regions = product.outcomes(fast)
    show(title, size, result, regions)
    return result, regions


def summary(results, regions, runs):
    timed = [result for result in results if result.times]
    kernels = [region for region in regions if not region.use_mlx]
    cached = sum(region.from_cache for region in kernels)
    means = [report.geometric_mean([r.ratio(name) for r in timed]) for name in ("eager", "mx.compile")]
    print(
        f"\n{len(timed)} of {len(results)} programs right, {len(regions)} regions, {len(kernels)} kernels"
        f" ({len(kernels) - cached} new, {cached} from the cache)."
        f" Geometric mean: {means[0]:.1f}x eager, {means[1]:.1f}x mx.compile."
    )
    again = " Run it again: the kernels are kept, and no compiler runs." if runs else ""
    print(f"Compiler runs: {runs}.{again}")


def main():
    mx.set_default_device(mx.cpu)
    with compiler_runs.counted() as runs:
        print(machine.line(machine.describe()))
        print(f"each program: right first, then {ROUNDS} interleaved rounds, median of a call")
        results, regions = [], []
        for title, workload, size in programs():
            result, found = run_program(title, workload, size)
            results.append(result)
            regions += found
        summary(results, regions, runs())
    sys.exit(0 if all(result.times for result in results) else 1)


if __name__ == "__main__":
    main()
