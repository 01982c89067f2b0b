"""The main job on real programs: what was fused, which kernels won, how right they are, and by how much they are
faster. Each program is checked against the double reference and eager MLX before it is timed."""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benchmarks"))

import correctness  # noqa: E402
import harness  # noqa: E402
import machine  # noqa: E402
import mlx.core as mx  # noqa: E402
import product  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402
from workloads import WORKLOADS, Workload, mixed  # noqa: E402

ROUNDS, WARMUP = 3, 2


def block_workload():
    """A whole mlx.nn module, its parameters captured as any closure's are."""
    mx.random.seed(0)
    block = mixed.TransformerBlock(256, 4)

    def inputs(draw, rows, columns):
        return draw.normal(1, rows, columns), mixed.causal_mask(rows)

    return Workload("mlx.nn transformer block", block, inputs, "mixed")


def programs():
    """(title, workload, size)."""
    yield "layer norm", WORKLOADS["layer_norm"], (1024, 4096)
    yield "softmax", WORKLOADS["softmax"], (1024, 4096)
    yield "residual + RMS norm", WORKLOADS["residual_rms_norm"], (1024, 4096)
    yield "gelu", WORKLOADS["gelu_tanh"], (1024, 4096)
    yield "SwiGLU", WORKLOADS["swiglu"], (1024, 4096)
    yield "cross entropy, label smoothing", WORKLOADS["cross_entropy"], (128, 32000)
    yield "mlx.nn transformer block", block_workload(), (128, 256)


def line(label, text):
    print(f"  {label:16} {text}")


def show_regions(regions, fused):
    for region, joined in zip(regions, fused, strict=True):
        line(region.kind, joined)
        kernel = f"plain MLX: {region.short_reason}"
        if not region.use_mlx:
            kernel = f"{region.provenance} ({'from the cache' if region.from_cache else 'new'})"
        line("", kernel)
    if not regions:
        print("  no region: plain MLX")


def show_accuracy(right):
    if right.against_oracle != right.against_oracle:
        line("error", f"{right.against_eager:.1f} units in the last place from eager MLX; no double reference")
        return
    line(
        "error",
        f"{right.against_oracle:.1f} units in the last place from the double reference (eager MLX:"
        f" {right.eager_against_oracle:.1f}), {right.against_eager:.1f} from eager MLX",
    )


def show_times(result):
    times = ", ".join(f"{name} {report.milliseconds(value)} ms" for name, value in result.times.items())
    line("time", f"{times} ±{result.times['autoperfect'].spread:.0%}")
    ratios = f"{result.ratio('eager'):.1f}x eager, {result.ratio('mx.compile'):.1f}x mx.compile"
    line("", f"{ratios}, {result.share:.0%} of the copy limit")


def run_program(title, workload, size):
    """Prints as it goes. Returns the result and what became of its regions."""
    fast = product.compile(workload.function)
    arguments = workload.make_args(size, mx.float32)
    start = time.perf_counter()
    results = fast(*arguments)
    mx.eval(results)
    regions = product.outcomes(fast)
    print(f"\n{title}, f32 {size[0]}x{size[1]}, first call {time.perf_counter() - start:.2f} s", flush=True)
    show_regions(regions, product.fused(fast))
    verdict = correctness.check(workload, size, mx.float32, arguments, results)
    result = report.Result(title, size, "f32", verdict)
    if not verdict.correct:
        print(f"  WRONG: {verdict.failure}")
        return result, regions
    show_accuracy(verdict)
    contenders = {"eager": workload.function, "mx.compile": mx.compile(workload.function), "autoperfect": fast}
    result.times = timing.interleave(contenders, arguments, WARMUP, ROUNDS)
    result.bytes_moved = harness.bytes_moved(workload, arguments)
    result.share = result.bytes_moved / result.times["autoperfect"].median / product.copy_limit()
    show_times(result)
    return result, regions


def summary(results, regions):
    timed = [result for result in results if result.times]
    kernels = [region for region in regions if not region.use_mlx]
    cached = sum(region.from_cache for region in regions)
    means = [report.geometric_mean([r.ratio(name) for r in timed]) for name in ("eager", "mx.compile")]
    print(
        f"\n{len(timed)} of {len(results)} programs right. {len(regions)} regions, {len(kernels)} run kernels of ours;"
        f" {cached} decisions from the cache, {len(regions) - cached} new."
        f"\nGeometric mean: {means[0]:.1f}x eager, {means[1]:.1f}x mx.compile."
    )
    slower = [r.name for r in timed if min(r.ratio("eager"), r.ratio("mx.compile")) < 1]
    if slower:
        print(f"Slower here than the better of eager and mx.compile: {', '.join(slower)}.")
    if cached < len(regions):
        print("Run it again: the kernels are kept, and no compiler runs.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="words of the titles of the programs to run (default: all)")
    wanted = parser.parse_args().programs
    mx.set_default_device(mx.cpu)
    start = time.perf_counter()
    print(machine.line(machine.describe()))
    print(f"each program: right first, then {ROUNDS} interleaved rounds, median of a call")
    results, regions = [], []
    for title, workload, size in programs():
        if wanted and not any(word in title for word in wanted):
            continue
        result, found = run_program(title, workload, size)
        results.append(result)
        regions += found
    summary(results, regions)
    print(f"{time.perf_counter() - start:.0f} s in all.")
    sys.exit(0 if all(result.times for result in results) else 1)


if __name__ == "__main__":
    main()
