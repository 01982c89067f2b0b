"""Whichever way a program spells the same mathematics with the same roundings, its canonical text is the same."""

import math
import re

import mlx.core as mx
import mlx.nn as nn
import pytest

from autoperfect._core import Stages

X, W = mx.zeros((4, 6, 32)), mx.zeros((32,))
TARGETS = mx.zeros((4, 6), mx.int32)


def canonical_text(function, arguments):
    """Without names, which come from the program."""
    numbers = {}
    text = Stages(function, list(arguments)).canonical
    return re.sub(r"%(\w+)", lambda match: f"%{numbers.setdefault(match[1], len(numbers))}", text)


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


def assigned(x, key, value):
    y = mx.zeros(x.shape)
    y[key] = value(x)
    return y


def assigned_to(x, key, value):
    y = x[...]
    y[key] = value
    return y


def updated(*steps):
    def run(x):
        y = x * 2
        for key, value in steps:
            y[key] = value(x)
        return y

    return run


def filled(fill, *steps):
    def run(x):
        y = mx.full(x.shape, fill)
        for key, value in steps:
            y[key] = value(x)
        return y

    return run


def rows(first, last):
    return slice(None), slice(first, last)


I, PAIRS = mx.zeros((5,), mx.int32), mx.zeros((5, 3), mx.int32)
EACH = mx.zeros((4, 6), mx.int32)
SAME_ELEMENTS = {
    "zeros_before": (lambda x: mx.concatenate([mx.zeros((4, 2, 32)), x], axis=1), lambda x: mx.pad(x, [(0, 0), (2, 0), (0, 0)]), [X]),
    "ones_around": (
        lambda x: mx.concatenate([mx.ones((4, 2, 32)), x, mx.ones((4, 1, 32))], axis=1),
        lambda x: mx.pad(x, [(0, 0), (2, 1), (0, 0)], constant_values=1.0), [X]),
    "pad_of_pad": (
        lambda x: mx.pad(mx.pad(x, [(1, 0), (0, 0), (0, 2)]), [(0, 1), (3, 3), (0, 0)]),
        lambda x: mx.pad(x, [(1, 1), (3, 3), (0, 2)]), [X]),
    "pad_of_nothing": (lambda x: mx.pad(x, [(0, 0), (0, 0), (0, 0)]), lambda x: x, [X]),
    "pad_of_two_values": (
        lambda x: mx.pad(mx.pad(x, [(1, 0), (0, 0), (0, 0)], constant_values=1.0), [(0, 1), (0, 0), (0, 0)], constant_values=2.0),
        lambda x: mx.concatenate([mx.ones((1, 6, 32)), x, mx.full((1, 6, 32), 2.0)]), [X]),
    "pad_of_transpose": (
        lambda x: mx.pad(x.transpose(1, 0, 2), [(1, 0), (0, 2), (0, 0)]),
        lambda x: mx.pad(x, [(0, 2), (1, 0), (0, 0)]).swapaxes(0, 1), [X]),
    "slice_of_pad": (lambda x: mx.pad(x, 2)[2:-2, 2:-2, 3:-2], lambda x: x[:, :, 1:], [X]),
    "slice_of_concatenation": (lambda x, w: mx.concatenate([x, x * 2], axis=1)[:, 6:8], lambda x, w: (x * 2)[:, :2], [X, W]),
    "whole_assignment": (lambda x: assigned(x, slice(None), mx.exp), mx.exp, [X]),
    "assigned_part": (
        lambda x: assigned(x, rows(1, 3), lambda x: x[:, :2]), lambda x: mx.pad(x[:, :2], [(0, 0), (1, 3), (0, 0)]), [X]),
    "assigned_twice": (
        updated((rows(1, 3), lambda x: x[:, :2]), (rows(0, 4), lambda x: x[:, 2:])), updated((rows(0, 4), lambda x: x[:, 2:])), [X]),
    "assigned_beside": (
        updated((rows(1, 2), lambda x: x[:, :1]), (rows(2, 3), lambda x: x[:, 3:4])),
        updated((rows(1, 3), lambda x: mx.concatenate([x[:, :1], x[:, 3:4]], axis=1))), [X]),
    "assigned_everywhere": (
        filled(1.0, (rows(4, 6), lambda x: x[:, :2]), (rows(0, 4), lambda x: x[:, 2:])),
        lambda x: mx.concatenate([x[:, 2:], x[:, :2]], axis=1), [X]),
    "assigned_with_a_gap": (
        filled(1.0, (rows(0, 2), lambda x: x[:, :2]), (rows(4, 6), lambda x: x[:, 2:4])),
        lambda x: mx.concatenate([x[:, :2], mx.ones((4, 2, 32)), x[:, 2:4]], axis=1), [X]),
    "added_to_part": (
        lambda x: x.at[:, 2:4].add(x[:, :2]), lambda x: assigned_to(x, rows(2, 4), x[:, 2:4] + x[:, :2]), [X]),
    "assigned_backwards": (
        updated((rows(None, None), lambda x: x)), updated(((slice(None), slice(None, None, -1)), lambda x: x[:, ::-1])), [X]),
    "rows_taken": (lambda x, i: mx.take(x, i, axis=0), lambda x, i: x[i], [X, I]),
    "middle_taken": (lambda x, i: mx.take(x, i, axis=1), lambda x, i: x[:, i], [X, I]),
    "last_taken": (lambda x, i: mx.take(x, i, axis=-1), lambda x, i: x[..., i], [X, I]),
    "taken_by_pairs": (lambda x, i: mx.take(x, i, axis=1), lambda x, i: x[:, i], [X, PAIRS]),
    "taken_of_transpose": (lambda x, i: mx.take(x, i, axis=1), lambda x, i: x.swapaxes(0, 1)[i].swapaxes(0, 1), [X, I]),
    "taken_flat": (lambda x, i: mx.take(x, i, axis=0), lambda x, i: x[i.reshape(15)].reshape(5, 3, 6, 32), [X, PAIRS]),
    "taken_by_wider_index": (lambda x, i: x[i], lambda x, i: x[i.astype(mx.int64)], [X, I]),
    "one_taken": (lambda x: mx.take(x, mx.array(-2), axis=1), lambda x: x[:, 4], [X]),
    "one_of_all_taken": (lambda x, i: x[i, 2], lambda x, i: x[:, 2][i], [X, I]),
    "one_for_each": (
        lambda x, t: x[mx.arange(4)[:, None], mx.arange(6), t],
        lambda x, t: mx.take_along_axis(x, t[..., None], axis=-1).squeeze(-1), [X, EACH]),
    "one_row_for_each": (
        lambda x, t: x[mx.arange(4), t],
        lambda x, t: mx.take_along_axis(x, mx.broadcast_to(t[:, None, None], (4, 1, 32)), axis=1)[:, 0], [X, mx.zeros((4,), mx.int32)]),
    "along_axis_for_all": (
        lambda x, i: mx.take_along_axis(x, mx.broadcast_to(i[None, :, None], (4, 5, 32)), axis=1), lambda x, i: mx.take(x, i, axis=1), [X, I]),
    "kept_axis": (lambda x: x - x.sum(axis=1)[:, None], lambda x: x - x.sum(axis=1, keepdims=True), [X]),
    "dropped_axis": (lambda x: mx.exp(x.sum(axis=1)), lambda x: mx.exp(x.sum(axis=1, keepdims=True)).squeeze(1), [X]),
    "dropped_argmax": (lambda x: mx.argmax(x, axis=0), lambda x: mx.argmax(x, axis=0, keepdims=True)[0], [X]),
}



def turned(x):
    """The gradient of a rotation of halves by one angle."""
    low, high, c, s = x[..., :16], x[..., 16:], math.cos(1.0), math.sin(1.0)
    return mx.concatenate([low * c + high * s, high * c - low * s], axis=-1) + 0.0


def rotated(x):
    low, high, c, s = x[..., :16], x[..., 16:], math.cos(1.0), math.sin(1.0)
    return mx.concatenate([low * c - high * s, low * s + high * c], axis=-1)


SAME_GRADIENTS = {
    "rotation": (lambda x, g: mx.vjp(rotated, [x], [g])[1][0], lambda x, g: turned(g), [X, X]),
    "neighbours": (
        lambda x, g: mx.vjp(lambda x: mx.concatenate([-x[..., 1::2], x[..., 0::2]], axis=-1), [x], [g])[1][0],
        lambda x, g: mx.concatenate([g[..., 16:, None], -g[..., :16, None]], axis=-1).reshape(4, 6, 32) + 0.0, [X, X]),
    "three parts": (
        lambda x, g: mx.vjp(lambda x: mx.concatenate([x[:, 4:], x[:, 2:4], x[:, :2]], axis=1), [x], [g])[1][0],
        lambda x, g: mx.concatenate([g[:, 4:], g[:, 2:4], g[:, :2]], axis=1) + 0.0, [X, X]),
    "swiglu of one array": (
        lambda x, g: mx.vjp(lambda x: x[..., :16] * x[..., 16:], [x], [g])[1][0],
        lambda x, g: mx.concatenate([x[..., 16:] * g, x[..., :16] * g], axis=-1) + 0.0, [X, X[..., :16]]),
}  # fmt: skip
SAME.update(SAME_ELEMENTS | {f"gradient of {name}": case for name, case in SAME_GRADIENTS.items()})


@pytest.mark.parametrize("name", SAME)
def test_spellings_share_one_text(name):
    one, other, arguments = SAME[name]
    assert canonical_text(one, arguments) == canonical_text(other, arguments)


@pytest.mark.parametrize("name", SAME)
def test_spellings_share_their_kernels(name):
    """Buffers, their order, layouts and aliases included, as a signature is of all of them."""
    one, other, arguments = SAME[name]
    signatures = [[r["signature"] for r in Stages(f, list(arguments)).regions] for f in (one, other, one)]
    assert signatures[0] == signatures[1] == signatures[2]
    assert "" not in signatures[0]


@pytest.mark.parametrize("name", SAME_GRADIENTS)
def test_gradients_keep_every_bit(name):
    """Zeros of both signs among them: a sum has no negative one."""
    function, _, shapes = SAME_GRADIENTS[name]
    choices = mx.array([0.0, -0.0, 1.0, -1.0, 0.3, -7.0, mx.inf])
    arguments = [choices[mx.random.randint(0, 7, x.shape, key=mx.random.key(n))] for n, x in enumerate(shapes)]
    stages, theirs = Stages(function, arguments), function(*arguments)
    (ours,) = stages.interpret(stages.canonical)
    known = ~mx.isnan(theirs)
    assert mx.array_equal(ours, theirs, equal_nan=True)
    assert mx.array_equal(mx.where(known, ours.view(mx.uint32), 0), mx.where(known, theirs.view(mx.uint32), 0))


DIFFERENT = {
    "gradient_without_positive_zeros": (
        lambda x: mx.pad(x[:, :3], [(0, 0), (0, 3), (0, 0)]) + mx.pad(x[:, 3:], [(0, 0), (3, 0), (0, 0)]),
        lambda x: mx.concatenate([x[:, :3], x[:, 3:]], axis=1)),
    "softmax_by_division": (
        lambda x: mx.softmax(x, axis=-1),
        lambda x: (lambda e: e / e.sum(axis=-1, keepdims=True))(mx.exp(x - x.max(axis=-1, keepdims=True)))),
    "softplus_by_log1p": (nn.softplus, lambda x: mx.log1p(mx.exp(x))),
    "third_power": (lambda x: x**3, lambda x: x * x * x),
    "relu_of_zeros": (nn.relu, lambda x: mx.where(x > 0, x, 0.0)),
    "padding_of_negative_zeros": (
        lambda x: mx.pad(x, 1), lambda x: mx.pad(x, 1, constant_values=-0.0)),
    "paddings_that_cross": (
        lambda x: mx.pad(mx.pad(x, [(1, 0), (0, 0), (0, 0)], constant_values=1.0), [(0, 0), (1, 0), (0, 0)]),
        lambda x: mx.pad(mx.pad(x, [(0, 0), (1, 0), (0, 0)]), [(1, 0), (0, 0), (0, 0)], constant_values=1.0)),
    "padding_on_the_other_side": (
        lambda x: mx.pad(x, [(0, 1), (0, 0), (0, 0)]), lambda x: mx.pad(x, [(1, 0), (0, 0), (0, 0)])),
    "updates_that_overlap": (
        updated((rows(0, 2), lambda x: mx.exp(x[:, :2])), (rows(1, 3), lambda x: mx.sin(x[:, :2]))),
        updated((rows(1, 3), lambda x: mx.sin(x[:, :2])), (rows(0, 2), lambda x: mx.exp(x[:, :2])))),
    "a_range_of_some_rows": (
        lambda x: x[mx.arange(3)[:, None], mx.arange(6)], lambda x: x[mx.arange(3, 0, -1)[:, None], mx.arange(6)]),
    "diagonal": (lambda x: x[mx.arange(4), mx.arange(4)], lambda x: x[mx.arange(4)[:, None], mx.arange(4)]),
    "sum_of_sums": (lambda x: x.sum(axis=(0, 1)), lambda x: x.sum(axis=1).sum(axis=0)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_elements_and_roundings_stay_different(name):
    one, other = DIFFERENT[name]
    assert canonical_text(one, [X]) != canonical_text(other, [X])
