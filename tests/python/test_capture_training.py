"""Whole programs of training and inference: gradients, modules, losses, optimizers, vmap and custom functions are captured
without an op that only its primitive can run, and give eager's results bit for bit, also from the text alone."""

import re

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
import pytest
from mlx.utils import tree_flatten, tree_unflatten

from autoperfect import _core


def bits(array):
    if array.dtype == mx.bfloat16:
        array = array.view(mx.uint16)
    return array.dtype, array.shape, np.array(array).tobytes()


def leaves(tree):
    return [leaf for _, leaf in tree_flatten(tree) if isinstance(leaf, mx.array)]


def normal(*shape, dtype=mx.float32, seed=0):
    return mx.random.normal(shape, key=mx.random.key(seed)).astype(dtype)


def labels(*shape, high):
    return mx.random.randint(0, high, shape, key=mx.random.key(5))


def opaque(graph):
    """Ops that run by their primitive only: these carry the key of their node."""
    return set(re.findall(r"= (\w+)[^\n]* key=\d", graph))


def check(fn, arguments):
    mx.eval(arguments)
    expected = [bits(array) for array in leaves(fn(*arguments))]
    graph, by_primitive, by_op = _core._replay(fn, arguments)
    assert opaque(graph) == set(), graph
    assert [bits(array) for array in by_primitive] == expected, graph
    assert [bits(array) for array in by_op] == expected, graph


def training(layer, *shape):
    """The output, and the gradients of a loss with respect to input and parameters."""
    parameters = dict(tree_flatten(layer.parameters()))
    mx.eval(parameters)

    def loss(parameters, x):
        layer.update(tree_unflatten(list(parameters.items())))
        out = layer(x)
        first = out[0] if isinstance(out, tuple) else out
        return mx.mean(mx.square(first - 0.5)), out

    def step(x, *values):
        given = dict(zip(parameters, values))
        try:
            gradient = mx.value_and_grad(loss, argnums=(0, 1))
            return gradient(given, x)
        finally:
            layer.update(tree_unflatten(list(parameters.items())))

    layer.eval()
    return step, [normal(*shape), *parameters.values()]


MODULES = {
    "Linear": (nn.Linear(8, 3), 5, 8),
    "Linear chain": (nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)), 5, 8),
    "Conv1d": (nn.Conv1d(4, 3, 3, stride=2, padding=1), 2, 9, 4),
    "Conv2d": (nn.Conv2d(4, 6, 3, padding=1, groups=2), 2, 5, 6, 4),
    "Conv3d": (nn.Conv3d(2, 3, 2), 1, 4, 5, 3, 2),
    "ConvTranspose2d": (nn.ConvTranspose2d(2, 3, 3, stride=2), 1, 4, 5, 2),
    "pooling": (nn.Sequential(nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 1)), 1, 6, 8, 3),
    "LayerNorm": (nn.LayerNorm(8), 5, 8),
    "RMSNorm": (nn.RMSNorm(8), 5, 8),
    "GroupNorm": (nn.GroupNorm(2, 8), 2, 3, 3, 8),
    "InstanceNorm": (nn.InstanceNorm(4, affine=True), 2, 9, 4),
    "BatchNorm": (nn.BatchNorm(4), 6, 4),
    "RNN": (nn.RNN(4, 3), 2, 5, 4),
    "GRU": (nn.GRU(4, 3), 2, 5, 4),
    "LSTM": (nn.LSTM(4, 3), 2, 5, 4),
    "Dropout": (nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2)), 5, 8),
    "RoPE": (nn.RoPE(8), 1, 2, 5, 8),
    "PReLU": (nn.Sequential(nn.Linear(8, 8), nn.PReLU()), 2, 8),
    "activations": (nn.Sequential(nn.GELU(), nn.Mish(), nn.ELU(), nn.SELU(), nn.Softplus(), nn.HardTanh()), 4, 8),
    "GELU approximations": (nn.Sequential(nn.GELU("precise"), nn.GELU("fast"), nn.Softmax()), 4, 8),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_gradients(name):
    layer, *shape = MODULES[name]
    check(*training(layer, *shape))


def test_attention_and_its_gradients():
    attention = nn.MultiHeadAttention(8, 2)
    mask = nn.MultiHeadAttention.create_additive_causal_mask(5)
    mx.eval(attention.parameters(), mask)

    def step(x):
        return mx.value_and_grad(lambda x: attention(x, x, x, mask).square().mean())(x)

    check(step, [normal(1, 5, 8)])


def test_a_transformer():
    model = nn.Transformer(dims=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, mlp_dims=16)
    model.eval()
    mx.eval(model.parameters())
    check(lambda a, b: model(a, b, None, None, None), [normal(1, 5, 8), normal(1, 3, 8, seed=1)])


def test_embedding_and_its_gradient():
    embedding = nn.Embedding(7, 3)
    mx.eval(embedding.parameters())

    def step(weight, ids):
        return mx.value_and_grad(lambda w: mx.square(w[ids]).sum())(weight), embedding(ids), embedding.as_linear(weight)

    check(step, [embedding.weight, labels(2, 4, high=7)])


def test_quantized_layers():
    for bits_each in (4, 8):
        linear = nn.QuantizedLinear(64, 32, group_size=32, bits=bits_each)
        embedding = nn.QuantizedEmbedding(7, 64, group_size=32, bits=bits_each)
        mx.eval(linear.parameters(), embedding.parameters())
        check(lambda i: linear(embedding(i)), [labels(2, 3, high=7)])
        check(mx.grad(lambda x: linear(x).square().sum()), [normal(3, 64)])


LOSSES = {
    "cross entropy": lambda x, y, i: nn.losses.cross_entropy(x, i, label_smoothing=0.1, reduction="mean"),
    "binary cross entropy": lambda x, y, i: nn.losses.binary_cross_entropy(x, mx.sigmoid(y), reduction="mean"),
    "mse": lambda x, y, i: nn.losses.mse_loss(x, y),
    "l1": lambda x, y, i: nn.losses.l1_loss(x, y),
    "nll": lambda x, y, i: nn.losses.nll_loss(nn.log_softmax(x), i, reduction="mean"),
    "gaussian nll": lambda x, y, i: nn.losses.gaussian_nll_loss(x, y, mx.exp(y), reduction="mean"),
    "kl": lambda x, y, i: nn.losses.kl_div_loss(nn.log_softmax(x), nn.log_softmax(y), reduction="mean"),
    "smooth l1": lambda x, y, i: nn.losses.smooth_l1_loss(x, y),
    "huber": lambda x, y, i: nn.losses.huber_loss(x, y, reduction="mean"),
    "log cosh": lambda x, y, i: nn.losses.log_cosh_loss(x, y, reduction="mean"),
    "hinge": lambda x, y, i: nn.losses.hinge_loss(x, mx.sign(y), reduction="mean"),
    "triplet": lambda x, y, i: nn.losses.triplet_loss(x, y, x * y, reduction="mean"),
    "cosine similarity": lambda x, y, i: nn.losses.cosine_similarity_loss(x, y, axis=-1, reduction="mean"),
    "margin ranking": lambda x, y, i: nn.losses.margin_ranking_loss(x, y, mx.sign(x), reduction="mean"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients(name):
    loss = LOSSES[name]
    check(lambda x, y, i: mx.value_and_grad(loss, argnums=(0, 1))(x, y, i), [normal(4, 9), normal(4, 9, seed=1), labels(4, high=9)])


OPTIMIZERS = {
    "SGD": lambda: optim.SGD(0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "RMSprop": lambda: optim.RMSprop(0.01),
    "Adagrad": lambda: optim.Adagrad(0.01),
    "AdaDelta": lambda: optim.AdaDelta(0.01),
    "Adam": lambda: optim.Adam(0.01, bias_correction=True),
    "AdamW": lambda: optim.AdamW(optim.cosine_decay(0.01, 10)),
    "Adamax": lambda: optim.Adamax(0.01),
    "Lion": lambda: optim.Lion(0.01, weight_decay=0.1),
    "Adafactor": lambda: optim.Adafactor(0.01, relative_step=False, scale_parameter=False),
    "Muon": lambda: optim.Muon(0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_steps(name):
    parameters = {"w": normal(4, 6), "b": normal(4, 1, seed=1)}
    gradients = [normal(4, 6, seed=2), normal(4, 1, seed=3)]
    optimizer = OPTIMIZERS[name]()
    optimizer.init(parameters)
    optimizer.update(parameters, {"w": gradients[0], "b": gradients[1]})
    mx.eval(optimizer.state)
    paths, values = zip(*tree_flatten(optimizer.state))

    def step(gw, gb, w, b, *state):
        before = optimizer.state
        optimizer.state = tree_unflatten(list(zip(paths, state)))
        try:
            updated = optimizer.apply_gradients({"w": gw, "b": gb}, {"w": w, "b": b})
            return updated, optimizer.state
        finally:
            optimizer.state = before

    check(step, [*gradients, parameters["w"], parameters["b"], *values])


def test_clipped_gradients():
    check(lambda a, b: optim.clip_grad_norm({"a": a, "b": b}, 0.5), [normal(3, 4), normal(5, seed=1)])


def test_custom_functions():
    @mx.custom_function
    def f(x, y):
        return mx.sin(x) * y, x + y

    @f.vjp
    def f_vjp(primals, cotangents, outputs):
        x, y = primals
        return cotangents[0] * mx.cos(x) * y + cotangents[1], cotangents[0] * mx.sin(x)

    @f.vmap
    def f_vmap(inputs, axes):
        return f(*inputs), axes

    check(lambda x, y: f(x, y), [normal(4), normal(4, seed=1)])
    check(mx.grad(lambda x, y: (f(x, y)[0] * f(x, y)[1]).sum(), argnums=(0, 1)), [normal(4), normal(4, seed=1)])
    check(lambda x, y: mx.vmap(lambda x, y: f(x, y)[0])(x, y), [normal(3, 4), normal(3, 4, seed=1)])


def test_checkpointed_layers():
    layer = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6))
    mx.eval(layer.parameters())
    checkpointed = nn.utils.checkpoint(layer)
    check(mx.value_and_grad(lambda x: checkpointed(x).square().sum()), [normal(3, 6)])


VMAPPED = {
    "softmax by matrix": (mx.vmap(lambda x, y: mx.softmax(x) @ y, in_axes=(0, None)), [normal(5, 3), normal(3, 2)]),
    "gather": (mx.vmap(lambda x, i: x[i]), [normal(3, 6), labels(3, 2, high=6)]),
    "scatter": (mx.vmap(lambda x, i: x.at[i].add(1.0)), [normal(3, 6), labels(3, 2, high=6)]),
    "take along an axis": (mx.vmap(lambda x, i: mx.take_along_axis(x, i, 0), in_axes=(1, 1)), [normal(4, 3), labels(2, 3, high=4)]),
    "sort": (mx.vmap(lambda x: (mx.sort(x), mx.argsort(x)), in_axes=1), [normal(4, 3)]),
    "slices": (mx.vmap(lambda x: (x[1:], x[::-1], mx.pad(x, 1)), in_axes=1), [normal(4, 3)]),
    "updates": (mx.vmap(lambda x, y: mx.slice_update(x, y, mx.array(1), (0,)), in_axes=(0, 0)), [normal(3, 6), normal(3, 2)]),
    "scan": (mx.vmap(lambda x: mx.cumsum(x) + mx.logsumexp(x), in_axes=1), [normal(4, 3)]),
    "convolution": (mx.vmap(lambda x: mx.conv1d(x[None], mx.ones((2, 3, 4)))), [normal(3, 6, 4)]),
    "norm": (mx.vmap(lambda x: mx.fast.rms_norm(x, mx.ones(4), 1e-5)), [normal(3, 4)]),
    "gradients": (mx.vmap(mx.grad(lambda x: mx.tanh(x).sum())), [normal(3, 4)]),
    "random": (mx.vmap(lambda k: mx.random.uniform(shape=(3,), key=k)), [mx.random.split(mx.random.key(1), 4)]),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap(name):
    fn, arguments = VMAPPED[name]
    check(fn, arguments)
