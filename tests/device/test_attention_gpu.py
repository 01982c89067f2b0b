"""Attention that a program wrote out, on a GPU: which forms run as fast.scaled_dot_product_attention, their numbers
and their times. Needs a GPU; also runs without pytest: python tests/device/test_attention_gpu.py [NAME...]"""

import sys
import time
import traceback

from test_compile_gpu import NO_GPU, ap, kernels, mx, normal, on_gpu

RUNS = "runs as fast.scaled_dot_product_attention"
SHAPE = (8, 16, 1024, 64)


def attend(q, k, v, masked=lambda scores: scores):
    scores = (q @ mx.swapaxes(k, -1, -2)) * q.shape[-1] ** -0.5
    return mx.softmax(masked(scores), axis=-1, precise=True) @ v


def causal(forbidden):
    def masked(scores):
        rows = mx.arange(scores.shape[-1] - scores.shape[-2], scores.shape[-1])[:, None]
        return mx.where(rows >= mx.arange(scores.shape[-1]), scores, mx.array(forbidden, scores.dtype))

    return masked


def tensors(dtype, *shapes):
    return [normal(*shape, dtype=dtype, key=1 + i) for i, shape in enumerate(shapes)]


def explanation(fast, *arguments):
    """What explain says of attention."""
    text, inside = [], False
    for line in ap.explain(fast, *arguments).splitlines():
        inside = line.startswith("attention:") or (inside and line.startswith("  "))
        text += [line] if inside else []
    return "\n".join(text)


def seconds(function, *arguments, calls=20, rounds=5):
    """The best of some rounds, of a call among several in one eval."""
    best = float("inf")
    for _ in range(rounds + 1):
        start = time.perf_counter()
        mx.eval([function(*arguments) for _ in range(calls)])
        mx.synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def check(function, *arguments):
    """As near to the same in f32 as eager is, and NaN where that is."""
    fast = ap.compile(function)
    start = time.perf_counter()
    ours, theirs = fast(*arguments), function(*arguments)
    print(f"compiled in {time.perf_counter() - start:.1f} s", flush=True)
    right = function(*(x.astype(mx.float32) if mx.issubdtype(x.dtype, mx.floating) else x for x in arguments))
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape

    def error(x):
        return mx.max(mx.abs(mx.nan_to_num(x.astype(mx.float32) - right))).item()

    assert mx.array_equal(mx.isnan(ours), mx.isnan(theirs)).item()
    assert error(ours) <= 2 * error(theirs) + 1e-6, (error(ours), error(theirs))
    return fast


@on_gpu
def test_halves_run_in_the_library():
    for dtype in (mx.bfloat16, mx.float16):
        arguments = tensors(dtype, SHAPE, SHAPE, SHAPE)
        fast = check(attend, *arguments)
        text = explanation(fast, *arguments)
        print(text, flush=True)
        assert RUNS in text
        library = lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5)
        for name, function in [
            ("eager", attend), ("mx.compile", mx.compile(attend)), ("ap.compile", fast), ("mx.fast", library)
        ]:
            print(f"{str(dtype):>20} {name:>10} {seconds(function, *arguments) * 1e6:8.1f} us", flush=True)


def seen(length=512):
    """A mask of bools in which row 5 sees nothing."""
    mask = normal(2, 1, length, length, key=8) > -0.5
    return mx.where(mx.arange(length)[:, None] == 5, False, mask)


def check_forms(forms):
    """Which are admitted depends on what MLX's kernels make of keys that nobody sees; the numbers are right anyway."""
    q, k, v = tensors(mx.bfloat16, *3 * [(2, 8, 512, 64)])
    for name, (masked, *mask) in forms.items():
        function = lambda q, k, v, *m: attend(q, k, v, lambda scores: masked(scores, *m))
        fast = check(function, q, k, v, *mask)
        print(f"{name}\n{explanation(fast, q, k, v, *mask)}", flush=True)


@on_gpu
def test_masks_that_are_added():
    check_forms({
        "a bias": (lambda s, m: s + m, normal(8, 512, 512, dtype=mx.bfloat16, key=7)),
        "zeros and -inf": (lambda s, m: s + m, mx.where(seen(), 0, -float("inf")).astype(mx.bfloat16)),
    })


@on_gpu
def test_masks_that_choose():
    check_forms({
        f"where a mask says, else {low}": (lambda s, m, low=low: mx.where(m, s, mx.array(low, s.dtype)), seen())
        for low in (-1e9, -float("inf"))
    })


@on_gpu
def test_causal_masks():
    check_forms({f"causal, else {low}": (causal(low),) for low in (-1e9, -float("inf"))})


@on_gpu
def test_shared_heads_and_what_is_around():
    """A block of a model: heads are axes of one tensor, 16 of q share 4 of k and v, norm and residual are fused."""

    def block(x, wq, wk, wv):
        normed = x * mx.rsqrt(mx.mean(mx.square(x), axis=-1, keepdims=True) + 1e-5)
        heads = lambda y, n: y.reshape(*y.shape[:2], n, 64).transpose(0, 2, 1, 3)
        q = heads(normed @ wq, 16).reshape(x.shape[0], 4, 4, -1, 64)
        k, v = (mx.expand_dims(heads(normed @ w, 4), 2) for w in (wk, wv))
        mixed = attend(q, k, v).reshape(x.shape[0], 16, -1, 64).transpose(0, 2, 1, 3).reshape(x.shape)
        return x + mx.sigmoid(mixed) * mixed

    x = normal(4, 512, 1024, dtype=mx.bfloat16)
    weights = [normal(1024, n, dtype=mx.bfloat16, key=n) * 0.03 for n in (1024, 256, 257)]
    weights[2] = weights[2][:, :256]
    fast = check(block, x, *weights)
    text = explanation(fast, x, *weights)
    print(text, flush=True)
    assert RUNS in text
    assert kernels(fast) >= 1
    again = ap.compile(lambda *a: block(*a))
    again(x, *weights)
    assert "(from cache)" in explanation(again, x, *weights)


try:
    import pytest

    pytestmark = pytest.mark.skipif(not mx.is_available(mx.gpu), reason=NO_GPU)
except ImportError:  # a GPU machine need not have it
    pass

if __name__ == "__main__":
    print(f"started, MLX {mx.__version__}", flush=True)
    if not mx.is_available(mx.gpu):
        sys.exit(NO_GPU)
    failed = 0
    for test in sys.argv[1:] or [name for name in globals() if name.startswith("test_")]:
        try:
            globals()[test]()
            print(f"passed {test}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {test}\n{traceback.format_exc()}", flush=True)
    sys.exit(bool(failed))
