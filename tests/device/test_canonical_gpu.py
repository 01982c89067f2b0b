"""A program has the same canonical graph on every device: on a GPU MLX traces mx.fast functions whole, on the CPU as the
primitives they stand for. Needs a GPU; also runs without pytest: python tests/device/test_canonical_gpu.py"""

import re
import sys

import mlx.core as mx
import mlx.nn as nn

from autoperfect._core import Stages

NO_GPU = "no GPU: MLX has none on this machine"


def normal(*shape, dtype=mx.float32):
    return mx.random.normal(shape, key=mx.random.key(sum(shape))).astype(dtype)


def attention(q, k, v, *, mask=None, scale=0.125):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)


def heads(dtype=mx.float32, queries=8, keys=8):
    return (normal(2, n, length, 64, dtype=dtype) for n, length in ((queries, 16), (keys, 24), (keys, 24)))


def programs():
    """name -> (function, arguments)"""
    w = normal(256)
    cases = {}
    for dtype in (mx.float32, mx.bfloat16, mx.float16):
        x, g = normal(4, 8, 256, dtype=dtype), w.astype(dtype)
        kind = str(dtype).split(".")[-1]
        cases[f"rms_norm {kind}"] = lambda x, w: mx.fast.rms_norm(x, w, 1e-5), (x, g)
        cases[f"rms_norm without weight {kind}"] = lambda x: mx.fast.rms_norm(x, None, 1e-6), (x,)
        cases[f"layer_norm {kind}"] = lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), (x, g, g + 1)
        cases[f"layer_norm without bias {kind}"] = lambda x, w: mx.fast.layer_norm(x, w, None, 1e-5), (x, g)
        cases[f"layer_norm alone {kind}"] = lambda x: mx.fast.layer_norm(x, None, None, 1e-5), (x,)
        cases[f"softmax {kind}"] = lambda x: mx.softmax(x, axis=-1), (x,)
        cases[f"softmax precise {kind}"] = lambda x: mx.softmax(x, axis=-1, precise=True), (x,)
        cases[f"logsumexp {kind}"] = lambda x: mx.logsumexp(x, axis=-1), (x,)
        cases[f"attention {kind}"] = attention, tuple(heads(dtype))
        cases[f"attention causal {kind}"] = lambda q, k, v: attention(q, k, v, mask="causal"), tuple(heads(dtype))
        cases[f"attention grouped {kind}"] = attention, tuple(heads(dtype, 8, 2))
    x = normal(2, 8, 16, 64)
    cases["rope"] = lambda x: mx.fast.rope(x, 64, traditional=False, base=10000.0, scale=1.0, offset=0), (x,)
    cases["rope half"] = lambda x: mx.fast.rope(x, 32, traditional=False, base=10000.0, scale=0.5, offset=3), (x,)
    cases["rope traditional"] = lambda x: mx.fast.rope(x, 64, traditional=True, base=500.0, scale=1.0, offset=7), (x,)
    cases["rope frequencies"] = (
        lambda x, f: mx.fast.rope(x, 64, traditional=False, base=None, scale=1.0, offset=5, freqs=f),
        (x, mx.arange(1, 33, dtype=mx.float32)),
    )
    cases["rope offset array"] = (
        lambda x, o: mx.fast.rope(x, 64, traditional=False, base=10000.0, scale=1.0, offset=o),
        (x, mx.array(4)),
    )
    keep = mx.tril(mx.ones((16, 24), dtype=mx.bool_))
    cases["attention bool mask"] = lambda q, k, v, m: attention(q, k, v, mask=m), (*heads(), keep)
    keys = tuple(heads(mx.bfloat16))
    cases["attention bool mask bfloat16"] = lambda q, k, v, m: attention(q, k, v, mask=m), (*keys, keep)
    cases["attention added mask"] = lambda q, k, v, m: attention(q, k, v, mask=m), (*heads(), normal(16, 24))
    targets = mx.arange(32) * 3
    cases["cross entropy"] = lambda x, t: mx.fast.cross_entropy(x, t).mean(), (normal(32, 128), targets)
    cases["cross entropy smoothed"] = (
        lambda x, t: nn.losses.cross_entropy(x, t, label_smoothing=0.1, reduction="none"),
        (normal(32, 128), targets),
    )
    return cases


def loss_and_gradients(function, argnums):
    """The value and the gradients of a weighted sum of what a function gives."""

    def loss(*arguments):
        y = function(*arguments)
        return (y * mx.arange(y.shape[-1], dtype=y.dtype)).sum()

    def both(*arguments):
        value, gradients = mx.value_and_grad(loss, argnums)(*arguments)
        return [value, *(gradients if isinstance(gradients, (list, tuple)) else [gradients])]

    return both


def rotate(x):
    return mx.fast.rope(x, 64, traditional=False, base=10000.0, scale=1.0, offset=3)


def gradients():
    """name -> (function, arguments)"""
    cases = {}

    def add(name, function, arguments, argnums):
        for of in {argnums, argnums[:1], argnums[-1:]}:
            cases[f"gradient of {name} by {of}"] = loss_and_gradients(function, of), arguments

    for dtype in (mx.float32, mx.bfloat16, mx.float16):
        kind = str(dtype).split(".")[-1]
        x, w = normal(4, 8, 256, dtype=dtype), normal(256, dtype=dtype)
        add(f"rms_norm {kind}", lambda x, w: mx.fast.rms_norm(x, w, 1e-5), (x, w), (0, 1))
        add(f"rms_norm without weight {kind}", lambda x: mx.fast.rms_norm(x, None, 1e-5), (x,), (0,))
        add(f"layer_norm {kind}", lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), (x, w, w + 1), (0, 1, 2))
        add(f"layer_norm without bias {kind}", lambda x, w: mx.fast.layer_norm(x, w, None, 1e-5), (x, w), (0, 1))
        add(f"layer_norm alone {kind}", lambda x: mx.fast.layer_norm(x, None, None, 1e-5), (x,), (0,))
        add(f"cross_entropy {kind}", mx.fast.cross_entropy, (normal(32, 128, dtype=dtype), mx.arange(32) * 3), (0,))
        add(f"rope {kind}", rotate, (normal(2, 8, 16, 64, dtype=dtype),), (0,))
        for length in (16, 128):  # at 128 a GPU has a gradient of its own
            q, k = normal(2, 8, length, 64, dtype=dtype), normal(2, 2, length, 64, dtype=dtype)
            name = f"{length} queries {kind}"
            add(f"attention of {name}", attention, (q, k, k + 1), (0, 1, 2))
            add(f"causal attention of {name}", lambda q, k, v: attention(q, k, v, mask="causal"), (q, k, k + 1), (0, 1, 2))
            added = normal(length, length, dtype=dtype)
            add(f"attention with added mask of {name}", lambda q, k, v, m: attention(q, k, v, mask=m), (q, k, k, added), (0, 1, 2))
    q, k = normal(2, 8, 128, 64, dtype=mx.bfloat16), normal(2, 2, 128, 64, dtype=mx.bfloat16)
    keep = mx.tril(mx.ones((128, 128), dtype=mx.bool_))
    add("attention with bool mask", lambda q, k, v, m: attention(q, k, v, mask=m), (q, k, k, keep), (0, 1, 2))
    return cases


def without_names(text):
    """Names come from what was captured; which value is meant does not."""
    numbers = {}
    return re.sub(r"%(\w+)", lambda match: f"%{numbers.setdefault(match[1], len(numbers))}", text)


def canonical(function, arguments, device):
    mx.set_default_device(device)
    return without_names(Stages(function, list(arguments)).canonical)


def differing():
    """Names of the programs whose canonical text is another on the GPU, with both texts."""
    found = {}
    for name, (function, arguments) in (programs() | gradients()).items():
        gpu, cpu = canonical(function, arguments, mx.gpu), canonical(function, arguments, mx.cpu)
        if gpu != cpu:
            found[name] = f"GPU:\n{gpu}\nCPU:\n{cpu}"
    return found


def test_canonical_graphs_do_not_depend_on_the_device():
    found = differing()
    assert not found, "\n".join(f"{name}\n{texts}" for name, texts in found.items())


try:
    import pytest

    pytestmark = pytest.mark.skipif(not mx.is_available(mx.gpu), reason=NO_GPU)
except ImportError:  # a GPU machine need not have it
    pass

if __name__ == "__main__":
    if not mx.is_available(mx.gpu):
        sys.exit(NO_GPU)
    bad = differing()
    for name, texts in bad.items():
        print(f"FAILED {name}\n{texts}")
    print(f"{len(programs()) + len(gradients()) - len(bad)} passed, {len(bad)} failed")
    sys.exit(bool(bad))
