"""The captured graph of a Python program gives eager's results bit for bit: node by node with MLX's own primitives, and
from the text of the graph alone."""

import math

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from autoperfect import _core


def bits(array):
    if array.dtype == mx.bfloat16:
        array = array.view(mx.uint16)
    return array.dtype, array.shape, np.array(array).tobytes()


def flat(tree):
    return [leaf for _, leaf in nn.utils.tree_flatten(tree) if isinstance(leaf, mx.array)]


def N(*shape, dtype=mx.float32, seed=0, scale=1.0):
    return (mx.random.normal(shape, key=mx.random.key(seed)) * scale).astype(dtype)


def I(*shape, dtype=mx.int32, high=100):
    return mx.random.randint(0, high, shape, key=mx.random.key(3)).astype(dtype)


def module(layer, *shape, dtype=mx.float32):
    layer.eval()
    layer.set_dtype(dtype)
    return lambda x: layer(x), [N(*shape, dtype=dtype)]


def rotate(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return mx.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def newton_schulz(x):
    x = x / (mx.linalg.norm(x, keepdims=True) + 1e-7)
    for _ in range(3):
        a = x @ x.T
        x = mx.addmm(3.4445 * x, mx.addmm(-4.775 * a, a, a, beta=1.0, alpha=2.0315), x, beta=1.0, alpha=1.0)
    return x


def assign(x):
    out = mx.zeros_like(x)
    out[:, ::-1] += mx.exp(x[:, ::-1]) * 0.5
    out[0, ::-2] = x[1, ::-2] - 1
    return out


def penalty(logits, tokens):
    chosen = logits[:, tokens]
    return logits.at[:, tokens].add(mx.where(chosen < 0, chosen * 0.1, chosen * -0.1))


MLP = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
LOSS = lambda x, y: nn.losses.cross_entropy(MLP(x), y, label_smoothing=0.1, reduction="mean")
H = mx.bfloat16

PROGRAMS = {
    "scalars of each kind": (lambda x: (x * 2 + 1.5) ** 2 - True, [N(4, 5)]),
    "weak scalars": (lambda x: x * 0.1 + 3, [N(4, 5, dtype=H)]),
    "integers": (lambda a, b: (a // (b + 1), a % (b + 1), a << 2, a / 3, -a, ~b), [I(9), I(9)]),
    "unsigned": (lambda a: (a - 1, a >> 1, a.astype(mx.int8), a.sum()), [I(9, dtype=mx.uint8)]),
    "64 bits": (lambda a: a * (2**40) + mx.array(2**62, mx.int64), [I(5, dtype=mx.int64)]),
    "bool": (lambda a, b: (a & b, a | ~b, a ^ b, mx.all(a), mx.any(b, axis=0), a.astype(H) * 2), [I(6) > 50, I(6) > 20]),
    "float floor division": (lambda a, b: (a // b, a % b, mx.divmod(a, b)), [N(9), N(9, seed=1)]),
    "complex": (lambda x: mx.abs(mx.exp(x * 1j)) + mx.real(x + 1j), [N(7)]),
    "nan and infinity": (lambda x: mx.where(x > 0, x, -math.inf) + mx.nan_to_num(x / 0), [N(9)]),
    "isnan and isclose": (lambda x, y: (mx.isnan(x / x), mx.isclose(x, y), mx.array_equal(x, y)), [N(5), N(5)]),
    "clip and round": (lambda x: mx.round(mx.clip(x, -1, 1), 1), [N(30)]),
    "mean, var and std": (lambda x: (x.mean(), x.var(axis=0, ddof=1), mx.std(x, axis=1, keepdims=True)), [N(5, 6, dtype=H)]),
    "softmax kinds": (lambda x: (mx.softmax(x, -1), mx.softmax(x, 0), mx.softmax(x, -1, precise=True)), [N(4, 9, dtype=mx.float16)]),
    "logsumexp kinds": (lambda x: (mx.logsumexp(x), mx.logsumexp(x, -1), mx.logsumexp(x, 0, keepdims=True)), [N(4, 9)]),
    "reductions": (lambda x: (x.max(0), x.min(), x.prod(1), x.argmax(), mx.argmin(x, 0, keepdims=True), mx.median(x, 0)), [N(4, 5)]),
    "scans": (lambda x: (mx.cumsum(x, 0), mx.cumprod(x, 1, reverse=True), mx.logcumsumexp(x, 0)), [N(4, 5)]),
    "sorting": (lambda x: (mx.sort(x), mx.argsort(x), mx.topk(x, 2), mx.partition(x, 2)), [N(4, 5)]),
    "views": (lambda x: (x.T, x.reshape(2, -1), x[None, :, 1::2], x[::-1], mx.moveaxis(x, 0, 1), x.flatten()), [N(4, 6)]),
    "broadcasts": (lambda x, y: (x[:, None] + y[None], mx.broadcast_to(x, (2, 4)), mx.expand_dims(x, (0, 2))), [N(4), N(3)]),
    "stack, tile and repeat": (lambda x: (mx.stack([x, x], 1), mx.tile(x, (2, 1)), mx.repeat(x, 2, 0), mx.concatenate([x, x])), [N(2, 3)]),
    "split and meshgrid": (lambda x: (mx.split(x, 3, -1), mx.meshgrid(x[0], x[:, 0])), [N(2, 6)]),
    "pad and roll": (lambda x: (mx.pad(x, 1, constant_values=2.0), mx.roll(x, 1), mx.diff(x)), [N(2, 3)]),
    "take": (lambda x, i: (x[i], mx.take(x, i, axis=1), x[i, i], mx.take_along_axis(x, i[:, None], 1)), [N(4, 4), I(4, high=4)]),
    "assignment": (assign, [N(2, 5)]),
    "scatter": (penalty, [N(3, 9), mx.array([1, 4, 4])]),
    "put_along_axis": (lambda x, i: mx.put_along_axis(x, i, mx.array(0.5), axis=1), [N(3, 4), I(3, 1, high=4)]),
    "ranges": (lambda x: x + mx.arange(5) + mx.linspace(0, 1, 5) + mx.arange(0, 1, 0.2).astype(x.dtype), [N(5)]),
    "eye, tri and full": (lambda x: x * mx.eye(4) + mx.tri(4) + mx.full((4, 4), 0.25) + mx.tril(mx.ones((4, 4))), [N(4, 4)]),
    "matmul": (lambda a, b: (a @ b, a[0, 0] @ b, mx.einsum("bij,jk->ik", a, b), mx.outer(a[0, 0], b[0])), [N(2, 3, 4), N(4, 5)]),
    "addmm": (lambda c, a, b: mx.addmm(c, a, b, alpha=0.5, beta=2.0), [N(5), N(3, 4), N(4, 5)]),
    "norms": (lambda x: (mx.linalg.norm(x), mx.linalg.norm(x, axis=1), mx.linalg.norm(x, ord=1, axis=0)), [N(3, 4)]),
    "linear algebra": (lambda x: mx.linalg.inv(x @ x.T + mx.eye(3), stream=mx.cpu), [N(3, 3)]),
    "fft": (lambda x: mx.abs(mx.fft.rfft(x)), [N(3, 8)]),
    "convolution": (lambda x, w: mx.conv2d(x, w, padding=1), [N(1, 5, 5, 2), N(3, 3, 3, 2)]),
    "quantized": (lambda x: mx.dequantize(*mx.quantize(x, group_size=64, bits=8), group_size=64, bits=8), [N(4, 64)]),
    "random with a key": (lambda x: x + mx.random.uniform(shape=(3,), key=mx.random.key(1)), [N(3)]),
    "random without one": (lambda x: x * mx.random.bernoulli(0.5, (3,), key=mx.random.split(mx.random.key(2))[0]), [N(3)]),
    "views of bits": (lambda x: x.view(mx.int32) & 0x7FFFFFFF, [N(5)]),
    "stop gradient": (lambda x: mx.stop_gradient(x) * x, [N(3)]),
    "rms norm": (lambda x, w: mx.fast.rms_norm(x, 1.0 + w, 1e-6), [N(2, 3, 8, dtype=H), N(8, dtype=H)]),
    "layer norm": (lambda x, w: mx.fast.layer_norm(x, w, w, 1e-5), [N(3, 8), N(8)]),
    "rope": (lambda x: mx.fast.rope(x, 8, traditional=False, base=1e4, scale=1.0, offset=2), [N(1, 2, 3, 8)]),
    "attention": (lambda q, m: mx.fast.scaled_dot_product_attention(q, q, q * 3, scale=0.5, mask=m), [N(1, 2, 4, 8), mx.tri(4) > 0]),
    "rotate half": (rotate, [N(2, 3, 8, dtype=H), N(3, 4, dtype=H), N(3, 4, dtype=H)]),
    "swiglu": (lambda g, x: nn.silu(g) * x, [N(4, 8, dtype=H), N(4, 8, dtype=H, seed=1)]),
    "gelu kinds": (lambda x: (nn.gelu(x), nn.gelu_approx(x), nn.mish(x), nn.softplus(x), nn.selu(x), nn.glu(x)), [N(4, 8)]),
    "newton schulz": (newton_schulz, [N(4, 6)]),
    "nn.Linear": module(nn.Linear(8, 3), 5, 8),
    "nn.Linear in bf16": module(nn.Linear(8, 3), 5, 8, dtype=H),
    "nn.Conv1d": module(nn.Conv1d(4, 3, 3), 2, 7, 4),
    "nn.LayerNorm": module(nn.LayerNorm(8), 5, 8),
    "nn.RMSNorm": module(nn.RMSNorm(8), 5, 8, dtype=mx.float16),
    "nn.GroupNorm": module(nn.GroupNorm(2, 8), 2, 3, 3, 8),
    "nn.InstanceNorm": module(nn.InstanceNorm(4), 2, 9, 4),
    "nn.BatchNorm": module(nn.BatchNorm(4), 6, 4),
    "nn.MultiHeadAttention": (lambda x, a=nn.MultiHeadAttention(8, 2): a(x, x, x), [N(1, 5, 8)]),
    "nn.GRU": module(nn.GRU(4, 3), 2, 5, 4),
    "nn.Upsample": module(nn.Upsample(scale_factor=2.0, mode="linear"), 1, 3, 3, 2),
    "nn.Embedding": (lambda i, e=nn.Embedding(7, 3): e(i), [I(2, 4, high=7)]),
    "cross entropy": (LOSS, [N(6, 8), I(6, high=4)]),
    "kl divergence": (lambda a, b: nn.losses.kl_div_loss(nn.log_softmax(a), nn.log_softmax(b)), [N(3, 9), N(3, 9, seed=1)]),
    "gradient": (mx.grad(lambda x: (mx.tanh(x) * x).sum()), [N(4, 5)]),
    "gradient of max": (mx.grad(lambda x: mx.max(mx.exp(x / 3), axis=-1).sum()), [N(4, 5)]),
    "gradient of a model": (lambda x, y: nn.value_and_grad(MLP, LOSS)(x, y), [N(6, 8), I(6, high=4)]),
    "second derivative": (mx.grad(lambda x: mx.grad(lambda x: mx.sin(x).sum() * x.sum())(x).sum()), [N(4)]),
    "vmap": (mx.vmap(lambda x, y: mx.softmax(x) @ y, in_axes=(0, None)), [N(5, 3), N(3, 2)]),
    "jvp": (lambda x: mx.jvp(mx.sin, [x], [mx.cos(x)]), [N(4)]),
    "checkpoint": (mx.grad(mx.checkpoint(lambda x: mx.exp(mx.sin(x)).sum())), [N(4)]),
    "compiled inside": (lambda x, f=mx.compile(lambda x: mx.exp(x) * 2 + 1): f(x) + f(x * 2), [N(4)]),
    "constants only": (lambda x: (mx.ones((2, 3)), mx.array([1, 2, 3]), mx.array(0.1)), [N(2)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_replay_is_bitwise_eager(name):
    fn, arguments = PROGRAMS[name]
    mx.eval(arguments)
    expected = [bits(array) for array in flat(fn(*arguments))]
    graph, by_primitive, by_op = _core._replay(fn, arguments)
    assert graph.startswith("autoperfect.graph 1\n")
    assert " key=" not in graph  # no op that only its primitive could run
    assert [bits(array) for array in by_primitive] == expected, graph
    assert [bits(array) for array in by_op] == expected, graph
    assert _core._replay(fn, arguments)[0] == graph


CONSTANTS = {
    "sum of a range": lambda x: x + mx.sum(mx.broadcast_to(mx.arange(4.0), (3, 4)), axis=0),
    "parts": lambda x: x + mx.concatenate(mx.split(mx.sin(mx.arange(4.0)), 2)[::-1]),
    "assigned part": lambda x: x + mx.zeros((4,)).at[1:3].add(mx.exp(mx.arange(2.0))),
    "norm": lambda x: x + mx.fast.layer_norm(mx.arange(4.0), None, None, 1e-5),
    "gradient of a bias": mx.grad(lambda b: (mx.ones((5, 4)) * 3 + b).sum()),
    "gradient of a slice": mx.grad(lambda x: (x[1:3] * mx.arange(2.0)).sum()),
    "gradient of a rotation": lambda x: mx.grad(
        lambda y: mx.fast.rope(y, 4, traditional=False, base=100.0, scale=1.0, offset=3).sum())(x.reshape(1, 1, 1, 4)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_is_made_of_ranges_and_numbers_is_no_data(name):
    """So that a program reads the same whether a device computes it in one primitive or in many."""
    graph, by_primitive, by_op = _core._replay(CONSTANTS[name], [N(4)])
    assert "captured=" not in graph
    assert [bits(array) for array in by_op] == [bits(array) for array in by_primitive]


def test_what_is_multiplied_drawn_or_given_stays_data():
    given, lazy = mx.array([1.0, 2.0]), mx.arange(4.0).reshape(2, 2) @ mx.ones((2,))
    graph, *_ = _core._replay(lambda x: x + given + lazy + mx.random.normal((2,), key=mx.random.key(1)), [N(2)])
    assert graph.count("captured=") == 3


def test_shape_of_a_graph():
    w = mx.arange(3.0)
    mx.eval(w)
    graph, *_ = _core._replay(lambda x, unused: mx.exp(x * w) * 0.5, [N(2, 3), N(1)])
    lines = graph.splitlines()
    assert lines[1].startswith("graph @main(%x0: f32[2,3], %x1: f32[1], %c0: f32[3] captured=")
    assert any("const 0.5 : f32[]" in line for line in lines)
    assert lines[-1] == "}" and lines[-2].startswith("  return ")
