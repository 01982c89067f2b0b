"""Elementwise programs: activations, residual chains, rotary embedding, an optimizer's update."""

import math

import mlx.core as mx

from .workload import Workload


def add(x, y):
    return x + y


def gelu(x):
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x * mx.sigmoid(x)


def swiglu(gate, x):
    return gate * mx.sigmoid(gate) * x


def softplus(x):
    return mx.logaddexp(x, 0)


def mish(x):
    return x * mx.tanh(mx.logaddexp(x, 0))


def bias_gelu_residual(x, bias, residual, scale):
    y = x + bias
    y = 0.5 * y * (1 + mx.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y * y * y)))
    return residual + scale * y


def rope(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return mx.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def adamw(parameter, gradient, m, v):
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * mx.square(gradient)
    return parameter * (1 - 1e-4) - 1e-3 * m / (mx.sqrt(v) + 1e-8), m, v


def one(draw, rows, columns):
    return (draw.normal(rows, columns),)


def two(draw, rows, columns):
    return draw.normal(rows, columns), draw.normal(rows, columns)


def bias_chain(draw, rows, columns):
    return draw.normal(rows, columns), draw.normal(columns), draw.normal(rows, columns), draw.normal(columns)


def rotary(draw, rows, columns):
    width = columns + columns % 2
    angles = mx.arange(rows)[:, None] * mx.power(10000.0, -mx.arange(width // 2) / (width // 2))
    return draw.normal(rows, width), mx.cos(angles).astype(draw.dtype), mx.sin(angles).astype(draw.dtype)


def adamw_state(draw, rows, columns):
    shape = rows, columns
    return draw.normal(*shape), draw.normal(*shape), draw.normal(*shape, scale=0.1), draw.positive(*shape, scale=0.01)


WORKLOADS = [
    Workload("add", add, two, "elementwise"),
    Workload("gelu", gelu, one, "elementwise"),
    Workload("gelu_tanh", gelu_tanh, one, "elementwise"),
    Workload("silu", silu, one, "elementwise"),
    Workload("swiglu", swiglu, two, "elementwise"),
    Workload("softplus", softplus, one, "elementwise"),
    Workload("mish", mish, one, "elementwise"),
    Workload("bias_gelu_residual", bias_gelu_residual, bias_chain, "elementwise"),
    Workload("rope", rope, rotary, "elementwise"),
    Workload("adamw", adamw, adamw_state, "elementwise"),
]
