"""Thirty hot functions of real programs (language models, audio codecs, samplers, losses, optimizers) at the shapes and
dtypes they have there, each written in plain MLX. Unlike the other workloads they have one size."""

import dataclasses
import math
import zlib
from typing import Callable

import mlx.core as mx
import mlx.nn as nn

from .workload import Draw

BF16, F16, F32 = mx.bfloat16, mx.float16, mx.float32


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    function: Callable
    inputs: Callable  # Draw -> list of arguments
    # Of a random draw: what decides it. One unit there may turn the draw, so that is what results are compared by.
    before_draw: Callable | None = None

    @property
    def compared(self):
        return self.before_draw or self.function

    def make_args(self):
        arguments = self.inputs(Draw(BF16, zlib.crc32(self.name.encode())))
        mx.eval(arguments)
        return arguments


def normals(*shapes, dtype=BF16):
    return lambda draw: [draw.normal(*shape, dtype=dtype) for shape in shapes]


# Activations


def swiglu(gate, x):
    return nn.silu(gate) * x


def xielu(x, alpha_p, alpha_n, beta, eps):
    positive = mx.logaddexp(alpha_p, 0.0)
    negative = beta + mx.logaddexp(alpha_n, 0.0)
    capped = mx.minimum(x, eps)
    return mx.where(x > 0, positive * mx.square(x) + beta * x, (mx.expm1(capped) - x) * negative + beta * x)


def xielu_inputs(draw):
    return [draw.normal(1, 512, 4096), *(mx.array(value) for value in (0.5, 0.3, 0.5, -1e-6))]


def clipped_swiglu(x, gate):
    gate = mx.clip(gate, None, 7.0)
    return gate * mx.sigmoid(1.702 * gate) * (mx.clip(x, -7.0, 7.0) + 1)


def two_gelus(x):
    return nn.gelu_approx(x) + nn.gelu(x)


def gelu_topk(x):
    """Only what lies well above the mean of its row passes."""
    cutoff = mx.mean(x, axis=-1, keepdims=True) + mx.std(x, axis=-1, keepdims=True) * 1.64
    return nn.gelu_approx(mx.maximum(0, x - cutoff))


def snake(x, alpha):
    wide = x.astype(F32)
    return (wide + 1.0 / (alpha + 1e-9) * mx.power(mx.sin(alpha * wide), 2)).astype(x.dtype)


def snake_inputs(draw):
    return [draw.normal(1, 24000, 96, dtype=F16), mx.abs(draw.normal(96, dtype=F32))]


# Norms


def shifted_rms_norm(x, weight):
    return mx.fast.rms_norm(x, 1.0 + weight, 1e-6)


def residual_rms_norm(x, residual, weight):
    y = x + residual
    return y, mx.fast.rms_norm(y, weight, 1e-6)


def gated_rms_norm(x, gate, weight):
    y = mx.fast.rms_norm(x, weight, 1e-6)
    return (nn.silu(gate.astype(F32)) * y.astype(F32)).astype(x.dtype)


def l2_norm(x):
    return x / mx.maximum(mx.linalg.norm(x, axis=-1, keepdims=True), 1e-7)


def group_norm(x, weight, bias):
    """32 groups of 10 channels, over all positions of an image."""
    y = x.reshape(1, -1, 32, 10).transpose(0, 2, 1, 3).reshape(1, 32, -1)
    y = mx.fast.layer_norm(y, None, None, 1e-5)
    return y.reshape(1, 32, -1, 10).transpose(0, 2, 1, 3).reshape(x.shape) * weight + bias


# Mixtures of experts


def select_experts(gates, bias):
    """The best 8 of 256 experts within the best 4 of their 8 groups, with weights that sum to 2.5."""
    scores = mx.sigmoid(gates.astype(F32))
    biased = (scores + bias).reshape(*scores.shape[:-1], 8, -1)
    groups = mx.topk(biased, 2, axis=-1).sum(axis=-1, keepdims=True)
    worst = mx.argpartition(groups, kth=3, axis=-2)[..., :4, :]
    biased = mx.put_along_axis(biased, mx.stop_gradient(worst), mx.array(0.0), axis=-2)
    chosen = mx.argpartition(-biased.flatten(-2, -1), kth=7, axis=-1)[..., :8]
    picked = mx.take_along_axis(scores, chosen, axis=-1)
    return chosen, 2.5 * picked / (picked.sum(axis=-1, keepdims=True) + 1e-20)


def select_experts_inputs(draw):
    return [draw.normal(1, 64, 256), draw.normal(256, dtype=F32)]


def sum_experts(outputs, scores):
    return (outputs * scores[..., None]).sum(-2).astype(outputs.dtype)


def sum_experts_inputs(draw):
    return [draw.normal(1, 128, 8, 2048), draw.normal(1, 128, 8, dtype=F32)]


# Sampling


def capped_log_probabilities(logits):
    logits = mx.tanh(logits / 30.0) * 30.0
    return logits - mx.logsumexp(logits, keepdims=True)


def min_p_logits(log_probabilities):
    threshold = mx.max(log_probabilities, axis=-1, keepdims=True) + math.log(0.05)
    kept = mx.where(log_probabilities < threshold, -mx.inf, log_probabilities)
    return kept * 1.25


def sample_min_p(log_probabilities):
    return mx.random.categorical(min_p_logits(log_probabilities), key=mx.random.key(1))


def keep_top_p(log_probabilities):
    order = mx.argsort(log_probabilities, axis=-1)
    cumulative = mx.cumsum(mx.exp(mx.take_along_axis(log_probabilities, order, axis=-1)), axis=-1)
    places = mx.arange(order.shape[-1], dtype=order.dtype)
    inverse = mx.put_along_axis(mx.zeros_like(order), order, places, axis=-1)
    return mx.where(mx.take_along_axis(cumulative, inverse, axis=-1) > 0.1, log_probabilities, -mx.inf)


def drop_top_choices(logits):
    probabilities = mx.softmax(logits, -1)
    least = mx.where(probabilities > 0.1, probabilities, mx.inf).min(-1, keepdims=True)
    return mx.where(probabilities > least, -mx.inf, logits)


def penalize_repetition(logits, tokens):
    chosen = logits[:, tokens]
    return logits.at[:, tokens].add(mx.where(chosen < 0, chosen * 0.1, chosen * -0.1))


def penalize_inputs(draw):
    return [draw.normal(1, 128000, dtype=F32), mx.arange(20)]


# Losses


def smoothed_cross_entropy(logits, targets):
    return nn.losses.cross_entropy(logits, targets, label_smoothing=0.1, reduction="mean")


def cross_entropy_inputs(draw):
    return [draw.normal(512, 32000, dtype=F32), mx.arange(512)]


def kl_divergence(student, teacher):
    a = student - mx.logsumexp(student, axis=-1, keepdims=True)
    b = teacher - mx.logsumexp(teacher, axis=-1, keepdims=True)
    return (mx.exp(a) * (a - b)).sum(-1)


# Adapters


def dora(weight, b, a, magnitude, out):
    adapted = weight + (2.0 * b.T) @ a.T
    return (magnitude / mx.linalg.norm(adapted, axis=1)).astype(out.dtype) * out


def merge_lora(weight, b, a):
    return weight + ((20.0 * b.T) @ a.T).astype(weight.dtype)


# State of recurrent layers


def ssm_step(x, a_log, b, c, d, dt, dt_bias, state):
    """One position of a selective state space layer: 64 heads of width 64 in 8 groups, 128 states."""
    dt = mx.clip(nn.softplus(dt + dt_bias), 0.001, 100.0)[:, 0]
    decay = mx.exp(-mx.exp(a_log) * dt)[..., None, None]
    b, c = (mx.repeat(part[:, 0], 8, axis=1) for part in (b, c))
    state = decay * state + (dt[..., None, None] * x[:, 0, ..., None]) * b[:, :, None, :]
    return (state * c[:, :, None, :]).sum(-1) + d[:, None] * x[:, 0], state


def ssm_inputs(draw):
    small = [draw.normal(1, 1, 8, 128), draw.normal(1, 1, 8, 128), draw.normal(64), draw.normal(1, 1, 64), draw.normal(64)]
    return [draw.normal(1, 1, 64, 64), draw.normal(64, dtype=F32), *small, draw.normal(1, 64, 64, 128, dtype=F32)]


def gated_delta_step(q, k, v, gate, beta, state):
    """One position of a gated delta rule: 32 heads, keys and values of width 128."""
    state = state * gate[..., None, None]
    memory = (state * k[..., None, :]).sum(axis=-1)
    delta = (v - memory) * beta[..., None]
    state = state + k[..., None, :] * delta[..., None]
    return (state * q[..., None, :]).sum(axis=-1).astype(q.dtype), state


def gated_delta_inputs(draw):
    rows = [draw.normal(1, 32, 128) for _ in range(3)]
    return [*rows, draw.normal(1, 32, dtype=F32), draw.normal(1, 32), draw.normal(1, 32, 128, 128, dtype=F32)]


# Attention


def rope(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return mx.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def capped_masked_scores(scores, mask):
    capped = mx.where(mask, mx.tanh(scores / 50.0) * 50.0, mx.finfo(scores.dtype).min)
    return mx.softmax(capped, axis=-1, precise=True)


def capped_masked_inputs(draw):
    return [draw.normal(1, 8, 512, 512), mx.tril(mx.ones((512, 512), dtype=mx.bool_))]


def dequantize_cache(words, scales, biases):
    return mx.dequantize(words, scales, biases, group_size=64, bits=8)


def dequantize_inputs(draw):
    return list(mx.quantize(draw.normal(2048, 128), group_size=64, bits=8))


# Optimizers


def adamw(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * mx.square(g)
    return p * (1 - 1e-4) - 1e-3 * m / (mx.sqrt(v) + 1e-8), m, v


def adamw_inputs(draw):
    return [*(draw.normal(4096, 1024, dtype=F32) for _ in range(3)), mx.abs(draw.normal(4096, 1024, dtype=F32))]


def orthogonalize(x):
    """Five steps of a quintic Newton-Schulz iteration."""
    x = x / (mx.linalg.norm(x, keepdims=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        poly = mx.addmm(-4.775 * gram, gram, gram, beta=1.0, alpha=2.0315)
        x = mx.addmm(3.4445 * x, poly, x, beta=1.0, alpha=1.0)
    return x


def clip_norm(*gradients):
    norm = mx.sqrt(sum(mx.square(g).sum() for g in gradients))
    scale = mx.minimum(1.0 / (norm + 1e-6), 1.0)
    return [g * scale for g in gradients]


PROGRAMS = {
    program.name: program
    for program in (
        Program("swiglu", swiglu, normals((1, 512, 4096), (1, 512, 4096))),
        Program("xielu", xielu, xielu_inputs),
        Program("clipped_swiglu", clipped_swiglu, normals((1, 128, 4, 2880), (1, 128, 4, 2880))),
        Program("two_gelus", two_gelus, normals((1, 512, 4096))),
        Program("gelu_topk", gelu_topk, normals((1, 128, 8192))),
        Program("snake", snake, snake_inputs),
        Program("shifted_rms_norm", shifted_rms_norm, normals((1, 512, 2048), (2048,))),
        Program("residual_rms_norm", residual_rms_norm, normals((1, 512, 4096), (1, 512, 4096), (4096,))),
        Program("gated_rms_norm", gated_rms_norm, normals((1, 512, 32, 128), (1, 512, 32, 128), (128,))),
        Program("l2_norm", l2_norm, normals((1, 512, 32, 64))),
        Program("group_norm", group_norm, normals((1, 64, 64, 320), (320,), (320,), dtype=F32)),
        Program("select_experts", select_experts, select_experts_inputs),
        Program("sum_experts", sum_experts, sum_experts_inputs),
        Program("capped_log_probabilities", capped_log_probabilities, normals((1, 128000))),
        Program("sample_min_p", sample_min_p, normals((1, 128000), dtype=F32), before_draw=min_p_logits),
        Program("keep_top_p", keep_top_p, normals((1, 32000), dtype=F32)),
        Program("drop_top_choices", drop_top_choices, normals((1, 128000), dtype=F32)),
        Program("penalize_repetition", penalize_repetition, penalize_inputs),
        Program("smoothed_cross_entropy", smoothed_cross_entropy, cross_entropy_inputs),
        Program("kl_divergence", kl_divergence, normals((128, 32000), (128, 32000), dtype=F32)),
        Program("dora", dora, normals((2048, 2048), (8, 2048), (2048, 8), (2048,), (1, 16, 2048))),
        Program("merge_lora", merge_lora, normals((2048, 2048), (8, 2048), (2048, 8))),
        Program("ssm_step", ssm_step, ssm_inputs),
        Program("gated_delta_step", gated_delta_step, gated_delta_inputs),
        Program("rope", rope, normals((1, 32, 512, 128), (512, 64), (512, 64))),
        Program("capped_masked_scores", capped_masked_scores, capped_masked_inputs),
        Program("dequantize_cache", dequantize_cache, dequantize_inputs),
        Program("adamw", adamw, adamw_inputs),
        Program("orthogonalize", orthogonalize, normals((256, 512), dtype=F32)),
        Program("clip_norm", clip_norm, normals(*[(1024, 1024)] * 4, dtype=F32)),
    )
}
