"""Statements that transform a function of the program: gradients, vmap, custom functions."""

from . import ops_elementwise as elementwise
from . import ops_move as move
from . import ops_reduce as reduce
from .generator import definition, nested

# What a gradient does not step on: of maxima, ties and sorting it is discontinuous.
SMOOTH = [
    elementwise.float_function, elementwise.float_exact, elementwise.binary, elementwise.with_scalar, move.view,
    move.slicing, move.joining, move.padding, move.taking, reduce.softmax, reduce.norm,
]
ANY = [*elementwise.TABLE, *reduce.TABLE, *move.TABLE]


def result_of(g, inner, wanted):
    made = [v for v in inner.values if v.name.startswith("v") and wanted(v)]
    return g.choose(*made[-3:]) if made else None


def gradient(g):
    a = g.pick_float(lambda v: v.array.size > 0)
    b = g.pick_float(lambda v: v.array.size > 0)
    inner = nested(g, ["p", "q"], [a, b], SMOOTH, 6)
    result = result_of(g, inner, lambda v: v.is_float)
    if result is None:
        return
    name = g.fresh("g")
    how = g.choose("sum", "mean")
    g.define(definition(name, ["p", "q"], inner, f"mx.{how}(mx.tanh({result.name}).astype(mx.float32))"))
    form = g.choose("mx.grad({})({}, {})", "mx.grad({}, argnums=1)({}, {})", "mx.value_and_grad({})({}, {})[1]")
    g.let(form.format(name, a.name, b.name), False, 10)


def pair_of_gradients(g):
    a = g.pick_float(lambda v: v.array.size > 0)
    inner = nested(g, ["p"], [a], SMOOTH, 4)
    result = result_of(g, inner, lambda v: v.is_float)
    if result is None:
        return
    name = g.fresh("g")
    g.define(definition(name, ["p"], inner, f"mx.sum(mx.sin({result.name}).astype(mx.float32))"))
    g.let_all(f"mx.value_and_grad({name})({a.name})", False, 14)


def vectorized(g):
    a = g.pick_float(lambda v: v.ndim > 0 and v.shape[0] > 0)
    inner = nested(g, ["p"], [g.row(a)], ANY, 5)
    result = result_of(g, inner, lambda v: True)
    if result is None:
        return
    name = g.fresh("m")
    g.define(definition(name, ["p"], inner, result.name))
    g.let(f"mx.vmap({name})({a.name})", result.exact, result.size)


def called_twice(g):
    """A function of the program called on two values, and compiled by MLX."""
    a = g.pick_float()
    b = g.pick(lambda v: v.shape == a.shape and v.dtype == a.dtype and g.is_tame(v))
    inner = nested(g, ["p"], [a], ANY, 5)
    result = result_of(g, inner, lambda v: v.is_float)
    if result is None:
        return
    name = g.fresh("m")
    g.define(definition(name, ["p"], inner, result.name))
    call = g.choose(name, f"mx.checkpoint({name})")
    g.let(f"{call}({a.name}) + {call}({b.name})", a.exact and b.exact and result.exact, result.size + 1)


TABLE = [gradient, gradient, pair_of_gradients, vectorized, vectorized, called_twice]
