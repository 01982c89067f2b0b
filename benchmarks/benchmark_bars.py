"""The bars on the CPU at (4096, 4096): how far above mx.compile, and how close to the machine's own copy speed.

Prints pass or miss for each bar; the exit status is 1 when a bar is missed or a result is wrong.
"""

import sys

import harness

NAMES = ["layer_norm", "softmax", "gelu_tanh", "swiglu"]
TIMES_FASTER = {"f32": 20.0, "bf16": 15.0, "f16": 15.0}  # than mx.compile
SHARE = {"f32": 0.45}  # of the copy limit


def bars(result):
    """(text, reached) for each bar of one result."""
    ratio, wanted = result.ratio("mx.compile"), TIMES_FASTER[result.dtype]
    yield f"{result.name} {result.dtype}: {ratio:.1f} x mx.compile, bar {wanted:g}", ratio >= wanted
    if result.dtype in SHARE:
        wanted = SHARE[result.dtype]
        yield f"{result.name} {result.dtype}: {result.share:.0%} of the copy limit, bar {wanted:.0%}", result.share >= wanted


def main():
    chosen = harness.options(__doc__, sizes=["4096x4096"], dtypes=["f32", "bf16"], iterations=3)
    chosen.warmup = min(chosen.warmup, 1)
    results = harness.run("Bars", harness.selected(NAMES, chosen), chosen)
    checked = [bar for result in results if result.times for bar in bars(result)]
    print()
    for text, reached in checked:
        print(f"{'pass' if reached else 'MISS'}  {text}")
    missed = sum(not reached for _, reached in checked)
    print(f"{len(checked) - missed} reached, {missed} missed")
    if missed:
        sys.exit(1)
    harness.finish(results)


if __name__ == "__main__":
    main()
