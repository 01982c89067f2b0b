"""Whichever way a program spells the same mathematics with the same roundings, its canonical text is the same."""

import math
import pathlib
import subprocess

import mlx.core as mx
import mlx.nn as nn
import pytest

import autoperfect

PROGRAM = pathlib.Path(autoperfect.__file__).parent / "autoperfect"
X, W = mx.zeros((4, 6, 32)), mx.zeros((32,))
TARGETS = mx.zeros((4, 6), mx.int32)


def canonical_text(tmp_path, name, function, arguments):
    path = str(tmp_path / f"{name}.mlxfn")
    mx.export_function(path, function, *arguments)
    short = {mx.float32: "f32", mx.bfloat16: "bf16", mx.int32: "i32", mx.bool_: "bool"}
    types = [f"{short[a.dtype]}[{','.join(map(str, a.shape))}]" for a in arguments]
    text = None
    for command in (["capture", path, *types], ["canonicalize"], ["print", "--canonical"]):
        done = subprocess.run([PROGRAM, *command], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        text = done.stdout
    return text


def hand_norm(x, w):
    wide = x.astype(mx.float32)
    return (wide * mx.rsqrt((wide * wide).mean(axis=-1, keepdims=True) + 1e-5)).astype(x.dtype) * w


def hand_layer_norm(x, w):
    mean = mx.sum(x, axis=2, keepdims=True) / 32
    centered = x - mean
    var = mx.mean(centered**2, -1, keepdims=True)
    return w + mx.broadcast_to(w[None, None], (4, 6, 32)) * (mx.rsqrt(1e-5 + var) * centered)


def shifted(x):
    return x - x.max(axis=-1, keepdims=True)


def hand_cross_entropy(x, t):
    score = mx.take_along_axis(x, t[..., None], axis=-1).reshape(4, 6)
    return mx.logsumexp(x, axis=-1) - score


def hand_smoothing(x, t):
    x = shifted(x)
    score = mx.take_along_axis(x, mx.expand_dims(t, -1), axis=-1)[..., 0]
    return 0.1 * -mx.mean(x, axis=-1) + (-(score * (1 - 0.1)) + mx.logsumexp(x, axis=-1))


def hand_attention(q, k, v):
    scores = (q * 0.25) @ mx.transpose(k, (0, 1, 3, 2))
    return mx.softmax(scores, axis=-1, precise=True) @ v


Q = mx.zeros((1, 2, 6, 8))
SAME = {
    "silu": (nn.silu, lambda x: mx.sigmoid(x) * x, [X]),
    "softplus": (nn.softplus, lambda x: mx.logaddexp(mx.array(0.0), x), [X]),
    "mish": (nn.mish, lambda x: mx.tanh(mx.logaddexp(0.0, x)) * x, [X]),
    "gelu": (nn.gelu, lambda x: 0.5 * (x * (mx.erf(x / math.sqrt(2)) + 1)), [X]),
    "gelu_fast": (nn.gelu_fast_approx, lambda x: mx.sigmoid(x * 1.702) * x, [X]),
    "log_softmax": (nn.log_softmax, lambda x: -mx.logsumexp(shifted(x), -1, keepdims=True) + shifted(x), [X]),
    "relu": (nn.relu, lambda x: mx.maximum(x, mx.zeros((1,))), [X]),
    "rms": (lambda x, w: mx.fast.rms_norm(x, w, 1e-5), hand_norm, [X, W]),
    "rms_bf16": (
        lambda x, w: mx.fast.rms_norm(x, w, 1e-5), hand_norm, [X.astype(mx.bfloat16), W.astype(mx.bfloat16)]),
    "layer": (lambda x, w: mx.fast.layer_norm(x, w, w, 1e-5), hand_layer_norm, [X, W]),
    "cross_entropy": (nn.losses.cross_entropy, lambda x, t: hand_cross_entropy(shifted(x), t), [X, TARGETS]),
    "fast_cross_entropy": (mx.fast.cross_entropy, hand_cross_entropy, [X, TARGETS]),
    "label_smoothing": (
        lambda x, t: nn.losses.cross_entropy(x, t, label_smoothing=0.1), hand_smoothing, [X, TARGETS]),
    "attention": (
        lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.25), hand_attention, [Q, Q, Q]),
    "square": (lambda x: x**2 + mx.square(x), lambda x: x * x + x * x, [X]),
    "split": (lambda x: mx.split(x, 2, axis=-1)[1], lambda x: x[..., 16:], [X]),
    "flattened": (lambda x, w: mx.exp(x.reshape(24, 32)) * w, lambda x, w: (w * mx.exp(x)).reshape(-1, 32), [X, W]),
    "turned": (lambda x: mx.tanh(x.swapaxes(0, 2)), lambda x: mx.tanh(x).transpose(2, 1, 0), [X]),
}


@pytest.mark.parametrize("name", SAME)
def test_spellings_share_one_text(name, tmp_path):
    one, other, arguments = SAME[name]
    assert canonical_text(tmp_path, "one", one, arguments) == canonical_text(tmp_path, "other", other, arguments)


DIFFERENT = {
    "softmax_by_division": (
        lambda x: mx.softmax(x, axis=-1),
        lambda x: (lambda e: e / e.sum(axis=-1, keepdims=True))(mx.exp(x - x.max(axis=-1, keepdims=True)))),
    "softplus_by_log1p": (nn.softplus, lambda x: mx.log1p(mx.exp(x))),
    "third_power": (lambda x: x**3, lambda x: x * x * x),
    "relu_of_zeros": (nn.relu, lambda x: mx.where(x > 0, x, 0.0)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_roundings_stay_different(name, tmp_path):
    one, other = DIFFERENT[name]
    assert canonical_text(tmp_path, "one", one, [X]) != canonical_text(tmp_path, "other", other, [X])
