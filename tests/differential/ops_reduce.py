"""Statements of reductions, scans, normalisations and sorting."""

import math


def log2_count(value, axes):
    return math.log2(max(1, math.prod(value.shape[axis] for axis in axes)))


def over(g, a):
    """(text of axis and keepdims, the axes)"""
    keep = g.flip()
    if a.ndim == 0 or g.integer(0, 3) == 0:
        return f"axis=None, keepdims={keep}", range(a.ndim)
    if g.flip():
        axis = g.choose(-1, g.axis(a))
        return f"axis={axis}, keepdims={keep}", [axis]
    axes = g.axes(a)
    return f"axis={axes}, keepdims={keep}", axes


def reduction(g):
    a = g.pick_float()
    where, axes = over(g, a)
    name, exact, size = g.choose(
        ("sum", False, a.size + log2_count(a, axes)),
        ("mean", False, a.size),
        ("max", a.exact, a.size),
        ("min", a.exact, a.size),
        ("var", False, 2 * a.size + 1),
        ("std", False, a.size + 1),
        ("logsumexp", False, a.size + 4),
    )
    g.let(f"mx.{name}({a.name}, {where})", exact, size)


def product(g):
    a = g.pick_float()
    where, _ = over(g, a)
    g.let(f"mx.prod(mx.tanh({a.name}) * 0.25 + 1.0, {where})", False, 10)


def reduce_then_use(g):
    """A reduction broadcast back over its rows."""
    a = g.pick_float(lambda v: v.ndim > 0)
    axis = g.choose(-1, -1, g.axis(a))
    form, size = g.choose(
        ("{0} - mx.max({0}, axis={1}, keepdims=True)", a.size + 1),
        ("{0} - mx.mean({0}, axis={1}, keepdims=True)", a.size + 1),
        ("{0} * mx.rsqrt(mx.mean(mx.square({0}), axis={1}, keepdims=True) + 1e-5)", 12),
        ("mx.exp({0} - mx.logsumexp({0}, axis={1}, keepdims=True))", 0),
        ("{0} / (mx.sum(mx.abs({0}), axis={1}, keepdims=True) + 1.0)", 1),
    )
    g.let(form.format(a.name, axis), False, size)


def reduction_of_integers(g):
    a = g.pick(lambda v: (v.is_integer or v.is_bool) and v.exact)
    where, _ = over(g, a)
    g.let(f"mx.{g.choose('sum', 'prod', 'max', 'min', 'any', 'all', 'mean')}({a.name}, {where})", exact=False)


def exact_reduction_of_integers(g):
    a = g.pick(lambda v: (v.is_integer or v.is_bool) and v.exact)
    where, _ = over(g, a)
    g.let(f"mx.{g.choose('sum', 'prod', 'max', 'min', 'any', 'all')}({a.name}, {where})")


def index_of_extreme(g):
    a = g.pick(lambda v: v.exact and (v.is_real or v.is_bool))
    axis = None if a.ndim == 0 or g.flip() else g.axis(a)
    g.let(f"mx.{g.choose('argmax', 'argmin')}({a.name}, axis={axis}, keepdims={g.flip()})")


def softmax(g):
    a = g.pick_float(lambda v: v.ndim > 0)
    axis = g.choose(-1, -1, g.axis(a), g.axes(a))
    form, size = g.choose(
        ("mx.softmax({}, axis={}, precise=%s)" % g.flip(), 0),
        ("mx.softmax({}, axis={})", 0),
        ("nn.log_softmax({}, axis={})", a.size + 4),
    )
    g.let(form.format(a.name, axis), False, size)


def norm(g):
    a = g.pick_float(lambda v: v.ndim > 0 and v.size < 8)
    width = a.shape[-1]
    weight = g.pick(lambda v: v.shape == (width,) and v.is_float, lambda: g.new_input(a.dtype, (width,)))
    form = g.choose(
        "mx.fast.rms_norm({0}, {1}, 1e-5)", "mx.fast.rms_norm({0}, None, 1e-5)",
        "mx.fast.layer_norm({0}, {1}, None, 1e-5)", "mx.fast.layer_norm({0}, {1}, {1}, 1e-5)",
        "mx.linalg.norm({0}, axis=-1, keepdims=True)",
    )
    g.let(form.format(a.name, weight.name), False, 20)


def cross_entropy(g):
    a = g.pick_float(lambda v: v.ndim == 2 and 0 not in v.shape)
    rows, classes = a.shape
    form = g.choose(
        f"nn.losses.cross_entropy({{}}, mx.arange({rows}) % {classes}, reduction='none')",
        "nn.losses.mse_loss({0}, mx.tanh({0}))",
        f"mx.logsumexp({{0}}, axis=-1) - {{0}}[:, {classes // 2}]",
    )
    g.let(form.format(a.name), False, 16)


def scan(g):
    a = g.pick(lambda v: v.ndim > 0 and (v.is_real) and g.is_tame(v))
    options = f"axis={g.axis(a)}, reverse={g.flip()}, inclusive={g.flip()}"
    name, exact, size = g.choose(
        ("cumsum", a.is_integer, a.size + 12),
        ("cummax", True, a.size),
        ("cummin", True, a.size),
        ("cumprod", a.is_integer, math.inf),
        ("logcumsumexp", False, a.size + 4),
    )
    if name == "logcumsumexp" and not a.is_float:
        name, exact = "cumsum", True
    operand = f"(mx.tanh({a.name}) * 0.25 + 1.0)" if name == "cumprod" and a.is_float else a.name
    g.let(f"mx.{name}({operand}, {options})", exact and a.exact, size)


def sorting(g):
    a = g.pick(lambda v: v.ndim > 0 and v.is_real and g.is_tame(v) and min(v.shape) > 0)
    axis = g.axis(a)
    kth = g.integer(0, a.shape[axis] - 1)
    g.let(
        g.choose(
            f"mx.sort({a.name}, axis={axis})",
            f"mx.sort(mx.partition({a.name}, {kth}, axis={axis}), axis={axis})",
            f"mx.sort(mx.topk({a.name}, {kth + 1}, axis={axis}), axis={axis})",
        ),
        a.exact, a.size,
    )


def sorting_indices(g):
    a = g.pick(lambda v: v.ndim > 0 and v.is_real and v.exact and min(v.shape) > 0)
    axis = g.axis(a)
    g.let(f"mx.argsort({a.name}, axis={axis})")


TABLE = [
    reduction, reduction, reduction, product, reduce_then_use, reduce_then_use, exact_reduction_of_integers,
    reduction_of_integers, index_of_extreme, softmax, softmax, norm, cross_entropy, scan, scan, sorting, sorting_indices,
]
