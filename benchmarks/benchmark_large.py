"""Arrays up to 1 GiB: right answers, and memory-bound and compute-bound behaviour as the cost model says.

Each case is checked on the first, a middle and the last rows, against eager MLX and a double precision reference, then
timed: the share of the machine's copy limit, or of its FMA peak, that it reaches. Sizes are cut, with the reason printed,
where the machine lacks the memory. The exit status is 1 when an answer is wrong, or a case is bound by something else than
it must be.
"""

import argparse
import os
import sys

import harness  # noqa: F401  (the paths)
import accuracy
import machine
import mlx.core as mx
import product
import timing

COLUMNS = 4096
ARRAYS = 5  # alive at once: two inputs, the result, the reference's parts, MLX's own temporaries


def residual(x, y):
    return x + 0.5 * y


def layer_norm(x, y):
    mean = mx.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    return centred * mx.rsqrt(mx.mean(mx.square(centred), axis=-1, keepdims=True) + 1e-5) + y


def row_sums(x, y):
    return mx.sum(x * y, axis=-1)


def waves(x, y):
    """Much mathematics for each element."""
    z = x
    for _ in range(6):
        z = mx.sin(z) + mx.erf(z * y)
    return z


CASES = {"residual": (residual, "memory"), "layer_norm": (layer_norm, "memory"), "row_sums": (row_sums, "memory"),
         "waves": (waves, "compute")}


def free_bytes():
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 4 << 30


def affordable(wanted):
    """The largest array, in bytes, of which ARRAYS fit three quarters of the free memory."""
    size = wanted
    while size * ARRAYS > 0.75 * free_bytes() and size > (1 << 20):
        size //= 2
    if size < wanted:
        print(f"arrays cut from {wanted >> 20} to {size >> 20} MiB: {free_bytes() >> 20} MiB of memory are free")
    return size


def fault(function, result, x, y):
    """Empty, or what is wrong. Every function here works row by row, so a band of rows can be computed alone: by eager
    MLX, and in double."""
    rows = x.shape[0]
    for start in sorted({0, max(0, rows // 2 - 2), max(0, rows - 4)}):
        band = slice(start, start + 4)
        part = [x[band], y[band]]
        verdict = accuracy.judge(result[band], function(*part), product.oracle(function, part))
        if not verdict.correct:
            return f"rows from {start} on: {verdict.failure}"
    return "a result is NaN" if mx.any(mx.isnan(result)).item() else ""


def check(name, x, y, iterations):
    function, bound = CASES[name]
    run = product.plan(function, [x, y])
    result = run([x, y])
    mx.eval(result)
    wrong = fault(function, result[0], x, y)
    verdict = f"WRONG ({wrong})" if wrong else "right"
    del result
    seconds = timing.interleave({name: lambda *arrays: run(list(arrays))}, [x, y], 1, iterations)[name].median
    costs, limits = run.region_costs, product.machine()
    if len(costs) != 1 or run.kernels != 1:
        print(f"{name:12} {x.nbytes >> 20:6} MiB  {verdict}  {run.kernels} kernels, not one")
        return False
    cost = costs[0]
    share = cost["bytes"] / seconds / limits["copy_bytes_per_second"]
    work = cost["flops"] / seconds / (limits["flops_per_second"] / 2)
    agrees = not wrong and cost["bound"] == bound
    print(f"{name:12} {x.nbytes >> 20:6} MiB  {verdict}  {cost['bound']:>7}-bound as predicted"
          f"{'' if cost['bound'] == bound else f' (NOT {bound})'}: {seconds * 1e3:8.1f} ms, predicted"
          f" {cost['fused_seconds'] * 1e3:8.1f}; {share:4.0%} of the copy limit, {work:4.0%} of the FMA peak", flush=True)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, nargs="+", default=[64, 256, 1024], metavar="MIB", help="bytes of one array")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--iterations", type=int, default=3)
    chosen = parser.parse_args()
    mx.set_default_device(mx.cpu)
    print(machine.line(machine.describe()), "\n")
    sizes = sorted({affordable(mib << 20) for mib in chosen.mib})
    wrong = 0
    for size in sizes:
        rows = max(1, size // 4 // COLUMNS)
        x = mx.random.uniform(-2, 2, (rows, COLUMNS), key=mx.random.key(1))
        y = mx.random.uniform(-2, 2, (rows, COLUMNS), key=mx.random.key(2))
        mx.eval(x, y)
        wrong += sum(not check(name, x, y, chosen.iterations) for name in chosen.only)
        del x, y
    print(f"{len(sizes) * len(chosen.only)} cases, {wrong} wrong or bound by something else than predicted")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
