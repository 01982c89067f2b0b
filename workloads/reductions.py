"""Programs around a reduction: statistics, norms, the softmax family, losses."""

import mlx.core as mx

from .workload import Workload


def row_sum(x):
    return mx.sum(x, axis=-1)


def column_sum(x):
    return mx.sum(x, axis=0)


def mean_var(x):
    mean = mx.mean(x, axis=-1, keepdims=True)
    return mean, mx.mean(mx.square(x - mean), axis=-1, keepdims=True)


def rms_norm(x, weight):
    return x * mx.rsqrt(mx.mean(mx.square(x), axis=-1, keepdims=True) + 1e-6) * weight


def layer_norm(x, weight, bias):
    mean = mx.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = mx.mean(mx.square(centred), axis=-1, keepdims=True)
    return centred * mx.rsqrt(variance + 1e-5) * weight + bias


def group_norm(x, weight, bias):
    groups = 8
    y = x.reshape(*x.shape[:-1], groups, -1)
    mean = mx.mean(y, axis=-1, keepdims=True)
    variance = mx.var(y, axis=-1, keepdims=True)
    y = (y - mean) * mx.rsqrt(variance + 1e-5)
    return y.reshape(x.shape) * weight + bias


def softmax(x):
    e = mx.exp(x - mx.max(x, axis=-1, keepdims=True))
    return e / mx.sum(e, axis=-1, keepdims=True)


def log_softmax(x):
    return x - mx.logsumexp(x, axis=-1, keepdims=True)


def logsumexp(x):
    return mx.logsumexp(x, axis=-1)


def cross_entropy(logits, labels):
    """With label smoothing 0.1; the mean over the rows."""
    smoothing, classes = 0.1, logits.shape[-1]
    normalizer = mx.logsumexp(logits, axis=-1)
    score = mx.take_along_axis(logits, labels[:, None], axis=-1).squeeze(-1)
    smooth = mx.sum(logits, axis=-1) / classes
    return mx.mean(normalizer - (1 - smoothing) * score - smoothing * smooth)


def argmax(x):
    return mx.argmax(x, axis=-1)


def residual_rms_norm(x, residual, weight):
    h = x + residual
    y = h.astype(mx.float32)
    y = y * mx.rsqrt(mx.mean(mx.square(y), axis=-1, keepdims=True) + 1e-6)
    return h, weight * y.astype(h.dtype)


def clip_norm(a, b):
    """Two gradients, scaled so that their common norm is at most one."""
    norm = mx.sqrt(mx.sum(mx.square(a)) + mx.sum(mx.square(b)))
    scale = mx.minimum(1.0 / (norm + 1e-6), 1.0)
    return a * scale, b * scale


def fast_rms_norm(x, weight):
    return mx.fast.rms_norm(x, weight, 1e-6)


def fast_layer_norm(x, weight, bias):
    return mx.fast.layer_norm(x, weight, bias, 1e-5)


def built_in_softmax(x):
    return mx.softmax(x, axis=-1)


def one(draw, rows, columns):
    return (draw.normal(rows, columns, scale=2.0),)


def two(draw, rows, columns):
    return draw.normal(rows, columns), draw.normal(rows, columns)


def weighted(draw, rows, columns):
    return draw.normal(rows, columns, mean=0.5), draw.normal(columns, mean=1.0, scale=0.1)


def weighted_biased(draw, rows, columns):
    return *weighted(draw, rows, columns), draw.normal(columns, scale=0.1)


def grouped(draw, rows, columns):
    return weighted_biased(draw, rows, -(-columns // 8) * 8)


def logits_labels(draw, rows, columns):
    return draw.normal(rows, columns, scale=2.0), draw.labels(rows, columns)


def residual_weighted(draw, rows, columns):
    return draw.normal(rows, columns), draw.normal(rows, columns), draw.normal(columns, mean=1.0, scale=0.1)


WORKLOADS = [
    Workload("sum", row_sum, one, "reduction"),
    Workload("column_sum", column_sum, one, "reduction"),
    Workload("mean_var", mean_var, one, "reduction"),
    Workload("rms_norm", rms_norm, weighted, "reduction", fast_rms_norm),
    Workload("layer_norm", layer_norm, weighted_biased, "reduction", fast_layer_norm),
    Workload("group_norm", group_norm, grouped, "reduction"),
    Workload("softmax", softmax, one, "reduction", built_in_softmax),
    Workload("log_softmax", log_softmax, one, "reduction"),
    Workload("logsumexp", logsumexp, one, "reduction"),
    Workload("cross_entropy", cross_entropy, logits_labels, "reduction"),
    Workload("argmax", argmax, one, "reduction"),
    Workload("residual_rms_norm", residual_rms_norm, residual_weighted, "reduction"),
    Workload("clip_norm", clip_norm, two, "reduction"),
]
