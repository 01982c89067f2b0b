"""Programs that mix the two, and whole blocks with matrix products: attention, gates, a transformer block, a training
step. Their row and column counts are turned into the sizes of the block, see each inputs function."""

import mlx.core as mx
import mlx.nn as nn

from .workload import Workload


def masked_softmax(scores, mask):
    return mx.softmax(mx.where(mask, scores, mx.finfo(scores.dtype).min), axis=-1)


def capped_softmax(scores):
    return mx.softmax(mx.tanh(scores / 50.0) * 50.0, axis=-1)


def attention(queries, keys, values, mask):
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.swapaxes(-1, -2)
    scores = mx.where(mask, scores, mx.finfo(scores.dtype).min)
    return mx.softmax(scores, axis=-1) @ values


def moe_gate(logits, bias):
    """Sigmoid scores, the threshold of the best eight by biased score, weights that sum to one."""
    scores = mx.sigmoid(logits.astype(mx.float32))
    biased = scores + bias
    threshold = mx.min(mx.topk(biased, 8, axis=-1), axis=-1, keepdims=True)
    chosen = mx.where(biased >= threshold, scores, 0.0)
    return chosen / (mx.sum(chosen, axis=-1, keepdims=True) + 1e-20)


class TransformerBlock(nn.Module):
    """Pre-norm attention with a causal mask and a SwiGLU MLP."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.RMSNorm(width)
        self.mlp_norm = nn.RMSNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def split(self, x):
        return x.reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2)

    def attend(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        y = attention(q, k, v, mask)
        return self.out(y.swapaxes(1, 2).reshape(x.shape))

    def __call__(self, x, mask):
        x = x + self.attend(self.attention_norm(x), mask)
        y = self.mlp_norm(x)
        return x + self.down(nn.silu(self.gate(y)) * self.up(y))


def causal_mask(length):
    return mx.tril(mx.ones((length, length), dtype=mx.bool_))


def transformer_block(parameters, x, mask):
    block = TransformerBlock(x.shape[-1], max(1, x.shape[-1] // 64))
    block.update(parameters)
    return block(x, mask)


def training_step(parameters, x, y):
    """One step of gradient descent on a small MLP: the loss and the new parameters."""

    def loss(p):
        h = x @ p["w1"] + p["b1"]
        h = 0.5 * h * (1 + mx.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
        logits = h @ p["w2"] + p["b2"]
        return nn.losses.cross_entropy(logits, y, reduction="mean")

    value, gradients = mx.value_and_grad(loss)(parameters)
    return value, {name: p - 0.01 * gradients[name] for name, p in parameters.items()}


def scores(draw, rows, columns):
    return (draw.normal(rows, columns, scale=4.0),)


def scores_mask(draw, rows, columns):
    mask = mx.arange(columns)[None, :] <= mx.arange(rows)[:, None] * columns // rows
    return draw.normal(rows, columns, scale=4.0), mask


def heads(draw, rows, columns):
    """`rows` positions, `columns` = heads x 64; at most 512 positions, or the product would be the whole time."""
    length, count, width = min(rows, 512), max(1, min(columns, 512) // 64), min(columns, 64)
    q, k, v = (draw.normal(1, count, length, width) for _ in range(3))
    return q, k, v, causal_mask(length)


def experts(draw, rows, columns):
    return draw.normal(rows, max(columns, 16)), draw.normal(max(columns, 16), scale=0.1, dtype=mx.float32)


def block(draw, rows, columns):
    """`rows` positions of width `columns`, at most 128 x 256."""
    length, width = min(rows, 128), min(columns, 256) // 64 * 64 or min(columns, 64)
    shapes = TransformerBlock(width, max(1, width // 64)).parameters()
    parameters = nn.utils.tree_map(lambda p: draw.normal(*p.shape, scale=width**-0.5, mean=float(p.ndim == 1)), shapes)
    return parameters, draw.normal(1, length, width), causal_mask(length)


def batch(draw, rows, columns):
    """`rows` examples of `columns` features, at most 256 x 128; hidden width 128, ten classes."""
    examples, features, hidden = min(rows, 256), min(columns, 128), 128
    parameters = {
        "w1": draw.normal(features, hidden, scale=features**-0.5),
        "b1": draw.normal(hidden, scale=0.1),
        "w2": draw.normal(hidden, 10, scale=hidden**-0.5),
        "b2": draw.normal(10, scale=0.1),
    }
    return parameters, draw.normal(examples, features), draw.labels(examples, 10)


WORKLOADS = [
    Workload("masked_softmax", masked_softmax, scores_mask, "mixed"),
    Workload("capped_softmax", capped_softmax, scores, "mixed"),
    Workload("attention", attention, heads, "mixed"),
    Workload("moe_gate", moe_gate, experts, "mixed"),
    Workload("transformer_block", transformer_block, block, "mixed"),
    Workload("training_step", training_step, batch, "mixed"),
]
